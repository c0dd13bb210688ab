"""Keys that sign contexts come and go; logins are mapped to a tenant and unmapped."""

import secrets

import psycopg
import pytest
from seeded_world import World
from test_context import SEEN, require_nothing_seen

from kit.signing import sign
from kit.template import CONTEXT_KID


class TestRotation:
    """Keys come and go without a caller noticing, or at once where one was lost."""

    def test_the_new_key_counts_at_once_and_the_old_one_runs_out(self, own_world: World):
        tenant = own_world.mine.tenant_id
        key = secrets.token_bytes(48)
        own_world.owner.execute("select add_context_key('k2', %s)", [key])
        own_world.owner.execute("select revoke_context_key(%s, 900)", [CONTEXT_KID])
        for token in (sign(tenant), sign(tenant, kid="k2", key=key)):
            assert own_world.ask("app", SEEN, {}, token=token).rows == ((tenant,),)
        own_world.owner.execute(
            "update context_key set not_after = now() - interval '1 second' where kid = %s", [CONTEXT_KID]
        )
        require_nothing_seen(own_world, "app", sign(tenant))
        assert own_world.ask("app", SEEN, {}, token=sign(tenant, kid="k2", key=key)).rows == ((tenant,),)

    def test_ctx_revoked_kid(self, own_world: World):
        own_world.owner.execute("select revoke_context_key(%s)", [CONTEXT_KID])
        require_nothing_seen(own_world, "app", sign(own_world.mine.tenant_id))

    def test_a_revoked_key_opens_nothing_in_a_transaction_that_began_before_either(self, own_world: World):
        conn = own_world.logins["app"]
        conn.execute("select 1")
        own_world.owner.execute("select revoke_context_key(%s)", [CONTEXT_KID])
        conn.execute("select laneway.enter(%s)", [sign(own_world.theirs.tenant_id)])
        assert conn.execute(SEEN).fetchone() == (None,)
        conn.rollback()

    def test_a_key_that_is_not_yet_good_opens_nothing(self, own_world: World):
        key = secrets.token_bytes(32)
        own_world.owner.execute("select add_context_key('k2', %s)", [key])
        own_world.owner.execute("update context_key set not_before = now() + interval '1 hour' where kid = 'k2'")
        require_nothing_seen(own_world, "app", sign(own_world.mine.tenant_id, kid="k2", key=key))

    def test_trusted_mode_signs_with_the_newest_key_that_counts(self, own_world: World):
        own_world.owner.execute("select add_context_key('k2')")
        own_world.owner.execute("select revoke_context_key(%s)", [CONTEXT_KID])
        conn = own_world.logins["backend"]
        conn.execute("select laneway.enter_tenant(%s, 'o', 'me')", [own_world.mine.tenant_id])
        assert conn.execute(SEEN).fetchone() == (own_world.mine.tenant_id,)
        own_world.owner.execute("select revoke_context_key('k2')")
        conn.rollback()
        answer = own_world.ask(
            "backend", "select laneway.enter_tenant(%(t)s, 'o', 'me')", {"t": own_world.mine.tenant_id}
        )
        assert answer.sqlstate == "22004"
        assert "add_context_key" in dict(answer.error)["message_hint"]

    def test_a_key_is_answered_once_and_never_shown_again(self, own_world: World):
        given = own_world.owner.execute("select add_context_key('k2')").fetchone()
        assert given is not None
        kid, _, encoded = given[0].partition(":")
        assert kid == "k2"
        audit = own_world.owner.execute("select a::text from audit a where verb = 'add_context_key'").fetchall()
        assert audit
        assert not [row for (row,) in audit if encoded in row]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            own_world.owner.execute("select add_context_key('k2')")

    @pytest.mark.parametrize("size", [0, 31, 65])
    def test_a_key_of_no_sound_length_is_refused(self, world: World, size: int):
        with pytest.raises(psycopg.errors.NumericValueOutOfRange) as refused, world.owner.transaction():
            world.owner.execute("select add_context_key('k3', %s)", [bytes(size)])
        assert refused.value.diag.column_name == "p_key"


class TestStrictMode:
    """A login that is mapped speaks for one tenant and no other, with a token or without."""

    def test_a_mapped_login_needs_no_token(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s)", [own_world.mine.tenant_id])
        assert own_world.ask("strict_1", SEEN, {}).rows == ((own_world.mine.tenant_id,),)
        seen = own_world.ask("strict_1", "select distinct tenant_id from laneway.job", {})
        assert seen.rows == ((own_world.mine.tenant_id,),)

    def test_login_mapped_foreign_token(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s)", [own_world.mine.tenant_id])
        require_nothing_seen(own_world, "strict_1", sign(own_world.theirs.tenant_id))
        assert own_world.ask("strict_1", SEEN, {}, token=sign(own_world.mine.tenant_id)).rows == (
            (own_world.mine.tenant_id,),
        )

    def test_a_login_of_this_mode_without_a_mapping_is_nobody_whatever_token_it_found(self, own_world: World):
        conn = own_world.logins["tenant"]
        for tenant in (own_world.mine, own_world.theirs):
            conn.execute("select set_config('laneway.ctx', %s, true)", [sign(tenant.tenant_id)])
            assert conn.execute(SEEN).fetchone() == (None,)
            assert conn.execute("select from laneway.job").fetchall() == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute("select laneway.enqueue(%s, 'echo')", [tenant.tenant_id])
            conn.rollback()

    def test_a_token_in_doubt_is_not_mended_by_the_mapping(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s)", [own_world.mine.tenant_id])
        require_nothing_seen(own_world, "strict_1", sign(own_world.mine.tenant_id, key=bytes(32)))

    @pytest.mark.parametrize(
        ("mapped", "token", "may"),
        [("r", "a", False), ("o", "a", True), ("a", "r", False), ("r", None, False), ("o", None, True)],
    )
    def test_the_lesser_of_both_scopes_counts(self, own_world: World, mapped: str, token: str | None, may: bool):  # noqa: FBT001
        own_world.owner.execute("select map_login('lw_test_strict_1', %s, %s)", [own_world.mine.tenant_id, mapped])
        answer = own_world.ask(
            "strict_1",
            "select from laneway.enqueue(%(tenant)s, 'echo')",
            {"tenant": own_world.mine.tenant_id},
            token=sign(own_world.mine.tenant_id, scope=token) if token else None,
        )
        assert answer.sqlstate == (None if may else "42501")

    def test_a_mapping_ends_with_the_next_statement(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s)", [own_world.mine.tenant_id])
        conn = own_world.logins["strict_1"]
        assert conn.execute(SEEN).fetchone() == (own_world.mine.tenant_id,)
        own_world.owner.execute("select unmap_login('lw_test_strict_1')")
        assert conn.execute(SEEN).fetchone() == (None,)
        conn.rollback()

    def test_another_login_gains_nothing_by_a_mapping(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s)", [own_world.mine.tenant_id])
        require_nothing_seen(own_world, "app", None)

    def test_a_mapped_login_is_written_down_as_the_actor(self, own_world: World):
        own_world.owner.execute("select map_login('lw_test_strict_1', %s, 'a')", [own_world.mine.tenant_id])
        own_world.ask(
            "strict_1",
            "select laneway.pause_lane(%(tenant)s, 'echo', 'at night')",
            {"tenant": own_world.mine.tenant_id},
            keep=True,
        )
        found = own_world.owner.execute(
            "select actor from audit where verb = 'pause' and reason = 'at night'"
        ).fetchall()
        assert found == [("login:lw_test_strict_1",)]
