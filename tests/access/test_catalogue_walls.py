"""What the catalogue must say for the walls to stand: scans over everything that is there, now and later."""

from seeded_world import World


def test_public_execute_scan(world: World):
    """Nothing of ours is granted to everybody: no function, no relation, no type, not the schema."""
    found = world.owner.execute(
        """
        select 'function ' || p.proname, a.privilege_type
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace = 'laneway'::regnamespace and a.grantee = 0
        union all
        select 'relation ' || c.relname, a.privilege_type
        from pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
        where c.relnamespace = 'laneway'::regnamespace and a.grantee = 0
        union all
        select 'column ' || c.relname || '.' || t.attname, a.privilege_type
        from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
        where c.relnamespace = 'laneway'::regnamespace
        union all
        select 'schema ' || n.nspname, a.privilege_type
        from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
        where n.nspname = 'laneway' and a.grantee = 0
        """
    ).fetchall()
    assert found == []


def test_a_function_made_later_is_nobody_s_until_it_is_granted(own_world: World):
    own_world.owner.execute("set role laneway_owner")
    own_world.owner.execute("create function newcomer() returns integer language sql as 'select 1'")
    own_world.owner.execute("reset role")
    for role in own_world.logins:
        assert own_world.ask(role, "select laneway.newcomer()", {}).sqlstate == "42501"


def test_secdef_path_scan(world: World):
    """Every function that runs as the owner says where its names are looked up: ours, the catalogue, temporary last."""
    found = world.owner.execute(
        """
        select p.proname::text, c.setting
        from pg_proc p
        left join lateral (
            select s as setting from unnest(p.proconfig) s where starts_with(s, 'search_path=')
        ) c on true
        where p.pronamespace = 'laneway'::regnamespace and p.prosecdef
        """
    ).fetchall()
    assert len(found) > 40
    assert {setting for _, setting in found} == {"search_path=laneway, pg_temp"}


def test_only_what_is_granted_runs_as_the_owner(world: World):
    """A helper that nobody is granted inherits the path of its caller; run as the owner it would be a door."""
    found = world.owner.execute(
        """
        select p.proname::text from pg_proc p
        where p.pronamespace = 'laneway'::regnamespace and p.prosecdef <> exists (
            select from aclexplode(p.proacl) a where a.grantee <> p.proowner)
        """
    ).fetchall()
    assert found == []


def test_view_without_invoker_scan(world: World):
    """A view of the owner would show all tenants' rows; a materialised view has no row security at all."""
    found = world.owner.execute(
        """
        select c.relname::text from pg_class c
        where c.relnamespace = 'laneway'::regnamespace
            and (c.relkind in ('m', 'f')
                or (c.relkind = 'v' and not coalesce(c.reloptions, '{}') @> '{security_invoker=true}'))
        """
    ).fetchall()
    assert found == []


def test_row_security_is_on_for_every_table_and_forced_on_none(world: World):
    """Functions of the owner carry the tenant themselves; everybody else meets a policy, or no row."""
    found = world.owner.execute(
        """
        select c.relname::text from pg_class c
        where c.relnamespace = 'laneway'::regnamespace and c.relkind in ('r', 'p')
            and (not c.relrowsecurity or c.relforcerowsecurity)
        """
    ).fetchall()
    assert found == []


def test_policies_only_let_read_and_ask_one_function_once(world: World):
    """`select` alone; either all rows, or those of the context by a subselect that runs once per query."""
    found = world.owner.execute(
        """
        select distinct p.polcmd::text, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), p.polwithcheck is null
        from pg_policy p join pg_class c on c.oid = p.polrelid
        where c.relnamespace = 'laneway'::regnamespace
        """
    ).fetchall()
    assert sorted(found) == [
        ("r", True, "(tenant_id = ( SELECT current_tenant() AS current_tenant))", True),
        ("r", True, "true", True),
    ]


def test_no_group_logs_in_or_has_powers_of_its_own(world: World):
    found = world.owner.execute(
        """
        select r.rolname::text from pg_roles r
        where starts_with(r.rolname, 'laneway_')
            and (r.rolcanlogin or r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication)
        """
    ).fetchall()
    assert found == []


def test_nobody_makes_anything_in_the_schema(world: World):
    for role in world.logins:
        for statement in (
            "create table laneway.mine (id uuid)",
            "create function laneway.mine() returns integer language sql as 'select 1'",
            "create view laneway.mine as select 1",
            "create type laneway.mine as enum ('a')",
        ):
            assert world.ask(role, statement, {}).sqlstate == "42501"
