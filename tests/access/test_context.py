"""Who a caller is: signed tokens, mapped logins, trusted mode. Any doubt is no tenant, and no tenant sees nothing."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from uuid import uuid4

import pytest
from seeded_world import World

from kit.signing import sign
from kit.template import CONTEXT_KEY, CONTEXT_KID

SEEN = "select laneway.current_tenant()"


def resign(text: str, *, key: bytes = CONTEXT_KEY) -> str:
    return f"{text}.{hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}"


def changed(world: World, place: int, part: str) -> str:
    """A valid token with one of its seven parts changed, the mac as it was."""
    parts = sign(world.mine.tenant_id).split(".")
    parts[place] = part
    return ".".join(parts)


def mac_of(world: World, change: Callable[[str], str]) -> str:
    parts = sign(world.mine.tenant_id).split(".")
    return ".".join([*parts[:6], change(parts[6])])


DOUBTFUL: dict[str, Callable[[World], str | None]] = {
    "ctx_unset": lambda _: None,
    "ctx_empty": lambda _: "",
    "ctx_plain_uuid": lambda world: str(world.mine.tenant_id),
    "ctx_expired": lambda world: sign(world.mine.tenant_id, limit=int(time.time()) - 1),
    "ctx_wrong_key": lambda world: sign(world.mine.tenant_id, key=secrets.token_bytes(32)),
    "ctx_unknown_kid": lambda world: sign(world.mine.tenant_id, kid="k99"),
    "ctx_swap_tenant": lambda world: changed(world, 2, str(world.theirs.tenant_id)),
    "ctx_swap_scope": lambda world: changed(world, 3, "o"),
    "ctx_swap_actor": lambda world: changed(world, 5, "root"),
    "ctx_relabel_kind": lambda world: changed(world, 1, "x"),
    "ctx_signed_as_x": lambda world: sign(world.mine.tenant_id, kind="x"),
    "ctx_unknown_kind": lambda world: sign(world.mine.tenant_id, kind="z"),
    "ctx_far_limit": lambda world: sign(world.mine.tenant_id, limit=int(time.time()) + 960),
    "ctx_no_limit": lambda world: resign(f"{CONTEXT_KID}.t.{world.mine.tenant_id}.a..somebody"),
    "ctx_negative_limit": lambda world: sign(world.mine.tenant_id, limit=-1),
    "ctx_long_limit": lambda world: sign(world.mine.tenant_id, limit=10**17),
    "ctx_arabic_digits": lambda world: resign(f"{CONTEXT_KID}.t.{world.mine.tenant_id}.a.١٧٩٩٩٩٩٩٩٩.somebody"),
    "ctx_unknown_scope": lambda world: sign(world.mine.tenant_id, scope="w"),
    "ctx_empty_scope": lambda world: sign(world.mine.tenant_id, scope=""),
    "ctx_dot_in_actor": lambda world: sign(world.mine.tenant_id, actor="a.b"),
    "ctx_blank_in_actor": lambda world: sign(world.mine.tenant_id, actor="a b"),
    "ctx_empty_actor": lambda world: sign(world.mine.tenant_id, actor=""),
    "ctx_long_actor": lambda world: sign(world.mine.tenant_id, actor="a" * 81),
    "ctx_500_characters": lambda world: sign(world.mine.tenant_id, actor="a" * 500),
    "ctx_upper_case_tenant": lambda world: resign(sign(world.mine.tenant_id).rpartition(".")[0].upper()),
    "ctx_tenant_without_dashes": lambda world: resign(
        sign(world.mine.tenant_id).rpartition(".")[0].replace(str(world.mine.tenant_id), world.mine.tenant_id.hex)
    ),
    "ctx_upper_case_mac": lambda world: mac_of(world, str.upper),
    "ctx_short_mac": lambda world: mac_of(world, lambda mac: mac[:-1]),
    "ctx_empty_mac": lambda world: mac_of(world, lambda _: ""),
    "ctx_trailing_newline": lambda world: sign(world.mine.tenant_id) + "\n",
    "ctx_leading_blank": lambda world: " " + sign(world.mine.tenant_id),
    "ctx_two_tokens": lambda world: sign(world.mine.tenant_id) + "." + sign(world.theirs.tenant_id),
}


def require_nothing_seen(world: World, role: str, token: str | None) -> None:
    assert world.ask(role, SEEN, {}, token=token).rows == ((None,),)
    for table in ("job", "live", "attempt", "tenant"):
        assert world.ask(role, f"select from laneway.{table}", {}, token=token).rows == ()
    refused = world.ask(
        role, "select from laneway.count_jobs(%(tenant)s)", {"tenant": world.mine.tenant_id}, token=token
    )
    assert refused.sqlstate == "42501"


def test_a_token_as_an_application_signs_it_opens_its_tenant(world: World):
    for actor in ("a", "user:17", "A-b_c:D", "x" * 80):
        assert world.ask("app", SEEN, {}, token=sign(world.mine.tenant_id, actor=actor)).rows == (
            (world.mine.tenant_id,),
        )
    ahead = sign(world.mine.tenant_id, limit=int(time.time()) + 890)
    assert world.ask("app", SEEN, {}, token=ahead).rows == ((world.mine.tenant_id,),)


@pytest.mark.parametrize("role", ["app", "tenant"])
@pytest.mark.parametrize("case", DOUBTFUL)
def test_a_context_in_doubt_sees_nothing(world: World, case: str, role: str):
    require_nothing_seen(world, role, DOUBTFUL[case](world))


def test_hmac_is_that_of_python(world: World):
    """Over keys and texts of many lengths, letters beyond ASCII among them."""
    for length in range(32, 65):
        key = secrets.token_bytes(length)
        padded = key.ljust(64, b"\0")
        text = "ä€😀." * (length % 7) + secrets.token_urlsafe(length)
        mine = world.owner.execute(
            "select hmac(%s, %s, %s)",
            [bytes(byte ^ 0x36 for byte in padded), bytes(byte ^ 0x5C for byte in padded), text],
        ).fetchone()
        assert mine == (hmac.new(key, text.encode(), hashlib.sha256).hexdigest(),)


def test_ctx_survives_commit_no(world: World):
    conn = world.logins["app"]
    conn.execute("select laneway.enter(%s)", [sign(world.mine.tenant_id)])
    assert conn.execute(SEEN).fetchone() == (world.mine.tenant_id,)
    conn.commit()
    assert conn.execute(SEEN).fetchone() == (None,)
    assert conn.execute("select current_setting('laneway.ctx', true)").fetchone() == ("",)
    conn.rollback()


def test_a_context_goes_back_with_its_savepoint(world: World):
    conn = world.logins["app"]
    conn.execute("select laneway.enter(%s)", [sign(world.mine.tenant_id)])
    conn.execute("savepoint before")
    conn.execute("select laneway.enter(%s)", [sign(world.theirs.tenant_id)])
    assert conn.execute(SEEN).fetchone() == (world.theirs.tenant_id,)
    conn.execute("rollback to before")
    assert conn.execute(SEEN).fetchone() == (world.mine.tenant_id,)
    conn.rollback()


def test_a_context_that_somebody_left_in_the_session_ends_with_the_next_one(world: World):
    """Fixation: every transaction of ours enters first, and what it enters is what counts."""
    conn = world.logins["app"]
    conn.execute("select set_config('laneway.ctx', %s, false)", [sign(world.theirs.tenant_id)])
    conn.commit()
    conn.execute("select laneway.enter(%s)", [sign(world.mine.tenant_id)])
    assert conn.execute(SEEN).fetchone() == (world.mine.tenant_id,)
    conn.rollback()
    conn.execute("reset laneway.ctx")
    conn.commit()


def test_ctx_app_calls_enter_tenant(world: World):
    for role in ("app", "tenant", "worker", "scheduler", "admin", "metrics"):
        answer = world.ask(role, "select laneway.enter_tenant(%(tenant)s, 'a', 'me')", {"tenant": world.mine.tenant_id})
        assert answer.sqlstate == "42501"


def test_trusted_mode_enters_a_tenant_for_one_transaction(world: World):
    conn = world.logins["backend"]
    conn.execute("select laneway.enter_tenant(%s, 'o', 'user:7')", [world.mine.tenant_id])
    assert conn.execute(SEEN).fetchone() == (world.mine.tenant_id,)
    assert conn.execute("select count(*) > 0 from laneway.job").fetchone() == (True,)
    made = conn.execute("select job_id from laneway.enqueue(%s, 'echo')", [world.mine.tenant_id]).fetchone()
    assert made is not None
    found = conn.execute("select created_by from laneway.job where id = %s", [made[0]]).fetchone()
    assert found == ("user:7",)
    conn.rollback()


def test_ctx_x_replay_other_tx(world: World):
    """What trusted mode signs is bound to the microsecond in which its transaction began."""
    conn = world.logins["backend"]
    conn.execute("select laneway.enter_tenant(%s, 'a', 'user:7')", [world.mine.tenant_id])
    taken = conn.execute("select current_setting('laneway.ctx')").fetchone()
    conn.commit()
    assert taken is not None
    require_nothing_seen(world, "backend", taken[0])
    require_nothing_seen(world, "app", taken[0])


@pytest.mark.parametrize(
    ("scope", "actor", "field"),
    [
        ("w", "me", "p_scope"),
        (None, "me", "p_scope"),
        ("o", "a b", "p_actor"),
        ("o", None, "p_actor"),
        ("o", "a" * 81, "p_actor"),
    ],
)
def test_trusted_mode_refuses_what_no_token_may_say(world: World, scope: str | None, actor: str | None, field: str):
    answer = world.ask(
        "backend",
        "select laneway.enter_tenant(%(tenant)s, %(scope)s, %(actor)s)",
        {"tenant": world.mine.tenant_id, "scope": scope, "actor": actor},
    )
    assert answer.sqlstate == "22023"
    assert dict(answer.error)["column_name"] == field


def test_trusted_mode_does_not_enter_the_system_s_own_tenant(world: World):
    """What administrators did is written down there: a backend is none of them."""
    (system,) = world.owner.execute("select tenant_id from tenant where is_system").fetchone() or (None,)
    answer = world.ask("backend", "select laneway.enter_tenant(%(tenant)s, 'a', 'me')", {"tenant": system})
    assert answer.sqlstate == "42501"
    assert dict(answer.error)["column_name"] == "p_tenant"


def test_trusted_mode_knows_no_unknown_tenant(world: World):
    answer = world.ask("backend", "select laneway.enter_tenant(%(tenant)s, 'o', 'me')", {"tenant": uuid4()})
    assert answer.sqlstate == "P0002"


def test_scope_r_cancels_nothing(world: World):
    """`scope_r_cancels`."""
    names = world.names(world.mine.tenant_id, world.mine)
    before = world.checksum()
    answer = world.ask(
        "app",
        "select from laneway.cancel(%(tenant)s, array[%(queued)s]::uuid[])",
        names,
        token=sign(world.mine.tenant_id, scope="r"),
        keep=True,
    )
    assert answer.sqlstate == "42501"
    assert world.checksum() == before


def test_fn_foreign_p_tenant_is_not_found(world: World):
    """`fn_foreign_p_tenant`: a name of another tenant in the argument opens nothing, whatever the scope."""
    answer = world.ask(
        "app",
        "select from laneway.get_job(%(tenant)s, %(queued)s)",
        world.names(world.theirs.tenant_id, world.theirs),
        token=sign(world.mine.tenant_id),
    )
    assert answer.sqlstate == "P0002"
