-- What is installed: migration 0 of every install, frozen like the others. Later changes are migrations.

create table install_migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    release text not null,
    applied_at timestamptz not null
);
comment on table install_migration is 'The migrations that made the tables, each run once.';
comment on column install_migration.number is 'Its number: they run in this order. 0 made these two tables.';
comment on column install_migration.name is 'Its file, without the ending.';
comment on column install_migration.checksum is 'SHA-256 of its text: an applied migration is frozen.';
comment on column install_migration.release is 'The release that applied it.';
comment on column install_migration.applied_at is 'When it was applied.';

create table install_stamp (
    id boolean primary key default true check (id),
    release text not null,
    options jsonb not null,
    files jsonb not null,
    access_checksum text not null,
    pins_checksum text not null,
    catalogue jsonb not null,
    applied_at timestamptz not null
);
comment on table install_stamp is 'What the last install or upgrade left behind: one row. `laneway migrate check` compares the database with it.';
comment on column install_stamp.id is 'Always true: there is one row.';
comment on column install_stamp.release is 'The release that was applied last.';
comment on column install_stamp.options is 'The options of the install: planner_pins, doorbell, single_role.';
comment on column install_stamp.files is 'For each function file its checksum and the functions and views it makes.';
comment on column install_stamp.access_checksum is 'SHA-256 of the access table.';
comment on column install_stamp.pins_checksum is 'SHA-256 of the planner pins.';
comment on column install_stamp.catalogue is 'A fingerprint for each object as it was left, owners and privileges included.';
comment on column install_stamp.applied_at is 'When it was applied.';
