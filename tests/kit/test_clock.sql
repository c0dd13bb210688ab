-- The clock of test databases: microseconds since the first of January 2026, kept in a sequence. A sequence is no part
-- of any transaction: a move is seen at once by all of them, and no rollback takes it back.
create schema if not exists laneway_test;
create sequence if not exists laneway_test.clock minvalue -9223372036854775807 start 0;
create sequence if not exists laneway_test.ids minvalue 0 maxvalue 17592186044415 start 0;
select setval('laneway_test.clock', 0), setval('laneway_test.ids', 0);
grant usage on schema laneway_test to laneway_owner;
grant select on sequence laneway_test.clock to laneway_owner;
grant usage on sequence laneway_test.ids to laneway_owner;

create or replace function clock() returns timestamptz
language sql volatile
as $$
    select timestamptz '2026-01-01 00:00:00+00' + pg_sequence_last_value('laneway_test.clock') * interval '1 microsecond'
$$;

-- Ids of this clock, so that they lie in the partitions of its days; in order while it stands still.
create or replace function new_id() returns uuid
language sql volatile
as $$
    select (lpad(to_hex(t.us / 1000), 12, '0') || '7' || lpad(to_hex(t.us % 1000 * 4096 / 1000), 3, '0')
        || '8' || lpad(to_hex(nextval('laneway_test.ids')), 11, '0') || '0000')::uuid
    from (select (extract(epoch from clock()) * 1000000)::bigint as us) t
$$;
