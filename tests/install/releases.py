"""Two small releases: what an upgrade may meet (columns, signatures, results, views, drops, grants) in a few lines."""

HEADER = "kind,name,app,tenant,backend,worker,scheduler,api,admin,metrics\n"
BOOKKEEPING = "table,install_stamp,,,,,,,,\ntable,install_migration,,,,,,,,\n"

FIRST = {
    "migrations/0001_notes.sql": """
        create table note (
            tenant_id uuid not null,
            id integer not null,
            body text not null default 'nothing' check (length(body) < 100),
            primary key (tenant_id, id)
        ) with (fillfactor = 70);
        comment on table note is 'Notes.';
        create index note_body on note (body) where body <> '';
        create table happening (tenant_id uuid not null, at date not null) partition by range (at);
        create table happening_default partition of happening default;
        create table happening_1 partition of happening for values from ('2026-01-01') to ('2026-02-01');
        create table setting (id boolean primary key default true, doorbell boolean not null default true);
        insert into setting default values;
        create table counted (id integer generated always as identity primary key);
    """,
    "functions/order.txt": "foundation\nnotes\n",
    "functions/foundation.sql": """
        create or replace function current_tenant() returns uuid
        language sql stable security definer set search_path from current
        as $$ select nullif(current_setting('laneway.ctx', true), '')::uuid $$;
        comment on function current_tenant() is 'Who.';
    """,
    "functions/notes.sql": """
        -- create or replace function not_this() in a comment
        create or replace function add_note(p_tenant uuid, p_id integer) returns integer
        language plpgsql security definer set search_path from current
        as $f$
        begin
            insert into note (tenant_id, id) values (p_tenant, p_id) on conflict do nothing;
            return p_id;
        end
        $f$;
        comment on function add_note is 'Adds; a semicolon in quotes.';

        create or replace function count_notes() returns table (amount bigint)
        language sql stable security definer set search_path from current
        as 'select count(*) from note';

        create or replace function old_way() returns text language sql as $$ select 'old' $$;

        do $$
        begin
            if current_setting('server_version_num')::integer >= 180000 then
                create or replace function by_version() returns text language sql as 'select ''18''';
            else
                create or replace function by_version() returns text language sql as 'select ''below''';
            end if;
        end
        $$;

        create or replace view note_list with (security_invoker = true) as
        select n.tenant_id, n.id, count_notes.amount from note n, count_notes();
    """,
    "access.csv": HEADER
    + BOOKKEEPING
    + """table,note,own,own,,,,,any,
table,happening,own,,,,,,,
table,setting,,,,,,,,
table,counted,,,,,,,,
view,note_list,any,,,,,,,
function,current_tenant,any,any,,,,,any,
function,add_note,own,,,any,,,,
function,count_notes,any,,,any,,,,
function,old_way,,,,any,,,,
function,by_version,,,,any,,,,
""",
    "pins.csv": "function,settings\nadd_note,enable_seqscan=off plan_cache_mode=force_generic_plan\n",
}

SECOND = FIRST | {
    "migrations/0002_moods.sql": """
        alter table note add column mood text;
        alter table note alter column body drop default;
        alter table note alter column body set default 'something';
    """,
    "functions/notes.sql": """
        create or replace function add_note(p_tenant uuid, p_id integer, p_mood text default null) returns integer
        language plpgsql security definer set search_path from current
        as $f$
        begin
            insert into note (tenant_id, id, mood) values (p_tenant, p_id, p_mood) on conflict do nothing;
            return p_id;
        end
        $f$;
        comment on function add_note is 'Adds, with a mood.';

        create or replace function count_notes() returns table (amount bigint, moods bigint)
        language sql stable security definer set search_path from current
        as 'select count(*), count(mood) from note';

        do $$
        begin
            if current_setting('server_version_num')::integer >= 180000 then
                create or replace function by_version() returns text language sql as 'select ''18''';
            else
                create or replace function by_version() returns text language sql as 'select ''below''';
            end if;
        end
        $$;

        create or replace view note_list with (security_invoker = true) as
        select n.tenant_id, n.mood, n.id, c.moods from note n, count_notes() c;
    """,
    "access.csv": HEADER
    + BOOKKEEPING
    + """table,note,own,,,,,,,any
table,happening,,own,,,,,,
table,setting,,,,,,,,
table,counted,,,,,,,,
view,note_list,,,,,,,any,
function,current_tenant,any,any,,,,,any,any
function,add_note,own,,,any,,,,
function,count_notes,,,,any,any,,any,
function,by_version,,,,any,,,,
""",
}


def changed(files: dict[str, str], path: str, old: str, new: str) -> dict[str, str]:
    """The files with one text replaced."""
    assert old in files[path]
    return files | {path: files[path].replace(old, new)}
