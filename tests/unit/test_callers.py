"""How a tenant's context comes into a call, and what a statement of it looks like."""

import base64
from uuid import UUID

import pytest

from kit.signing import sign
from kit.template import CONTEXT_KEY, CONTEXT_KID
from laneway.database.call import Argument, Call, Scope, Style, statement
from laneway.database.caller import ContextKey, Mapped, Signed, Trusted
from laneway.errors import ConfigurationError

TENANT = UUID("0192f0c1-0000-7000-8000-000000000001")
KEY = f"{CONTEXT_KID}:{base64.b64encode(CONTEXT_KEY).decode()}"


def call(**changes: object) -> Call[None]:
    fields = {
        "function": "cancel",
        "arguments": {"tenant": Argument(TENANT, "uuid"), "reason": Argument(None, "text")},
        "columns": ("job_id", "answer"),
        "read": lambda _: None,
        "tenant": TENANT,
    }
    return Call(**{**fields, **changes})


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (Style.NUMBERED, 'select job_id, answer from "laneway".cancel(p_tenant => $1::uuid)'),
        (Style.FORMAT, 'select job_id, answer from "laneway".cancel(p_tenant => %s::uuid)'),
    ],
)
def test_a_statement_names_what_is_given_and_leaves_out_what_is_not(style, text):
    assert statement(call(), schema="laneway", style=style) == (text, [TENANT])


@pytest.mark.parametrize(
    ("schema", "style", "inside"),
    [('a"b', Style.NUMBERED, '"a""b".'), ("100%", Style.FORMAT, '"100%%".'), ("100%", Style.NUMBERED, '"100%".')],
)
def test_an_odd_schema_is_quoted_as_the_driver_wants_it(schema, style, inside):
    assert f"from {inside}cancel(" in statement(call(), schema=schema, style=style).text


class TestSigned:
    def test_it_signs_as_the_database_checks_it(self):
        token = ContextKey.parse(KEY).token(TENANT, Scope.OPERATE, "me", until=1_700_000_000)
        assert token == sign(TENANT, scope="o", actor="me", limit=1_700_000_000)

    def test_a_token_is_kept_while_half_of_its_time_is_left(self):
        now = [1000.0]
        signed = Signed(ContextKey.parse(KEY), "me", lambda: now[0])
        first = signed.sign(call()).arguments["token"]
        now[0] += 299
        assert signed.sign(call()).arguments["token"] == first
        now[0] += 2
        assert signed.sign(call()).arguments["token"] != first

    def test_a_call_without_a_tenant_is_let_alone(self):
        plain = call(tenant=None)
        assert Signed(ContextKey.parse(KEY), "me").sign(plain) is plain


def test_whoever_is_trusted_enters_the_tenant_first():
    trusted = Trusted("me")
    before = trusted.before(call(scope=Scope.READ))
    assert (before.function, [argument.value for argument in before.arguments.values()]) == (
        "enter_tenant",
        [TENANT, "r", "me"],
    )
    assert trusted.before(call(tenant=None)) is None


def test_a_mapped_login_says_nothing():
    assert Mapped().before(call()) is None
    assert "token" not in Mapped().sign(call()).arguments


@pytest.mark.parametrize("text", ["", "k1", "k1:", "k1:c2hvcnQ=", f"k 1:{KEY}", "k1:not base64!", f"k1:{'A' * 88}A="])
def test_what_is_no_key_is_refused_and_not_shown(text):
    with pytest.raises(ConfigurationError) as caught:
        ContextKey.parse(text)
    assert text[3:] not in str(caught.value) or len(text) <= 3


@pytest.mark.parametrize("actor", ["", "a b", "x" * 81, "a.b"])
def test_an_actor_that_a_token_cannot_carry_is_refused(actor):
    with pytest.raises(ConfigurationError, match="actor"):
        Trusted(actor)
