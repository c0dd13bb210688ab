"""pause.sql and tenants.sql: who holds what back, since when and why; every change is written down."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from kit.signing import sign

HELD_IN = {"queue": "queue", "definition": "definition", "tenant": "tenant_control"}


def target_of(lane, kind):
    return lane.tenant if kind == "tenant" else {"queue": "default", "definition": "echo"}[kind]


def audits(lane, verb, kind):
    return lane.heart.rows(
        "select target, reason, after from audit where verb = %s and target_kind = %s order by id", [verb, kind]
    )


@pytest.mark.parametrize("kind", HELD_IN)
class TestAPause:
    def pause(self, lane, kind, reason="at night", until=None):
        lane.heart.rows(f"select pause_{kind}(%s, %s, %s)", [target_of(lane, kind), reason, until])

    def state(self, lane, kind):
        where = {"queue": "name = %s", "definition": "key = %s", "tenant": "tenant_id = %s"}[kind]
        return lane.heart.one(
            f"select paused_at, paused_until, paused_by, paused_reason from {HELD_IN[kind]} where {where}",
            [target_of(lane, kind)],
        )

    def test_says_since_when_until_when_who_and_why(self, lane, clock, kind):
        until = clock.now() + timedelta(hours=1)
        self.pause(lane, kind, until=until)
        assert self.state(lane, kind) == (clock.now(), until, "login:postgres", "at night")
        lane.heart.rows(f"select resume_{kind}(%s, 'why')", [target_of(lane, kind)])
        assert self.state(lane, kind) == (None, None, None, None)

    def test_is_written_down_and_so_is_its_end(self, lane, kind):
        self.pause(lane, kind)
        lane.heart.rows(f"select resume_{kind}(%s, 'morning')", [target_of(lane, kind)])
        ((target, reason, after),) = audits(lane, "pause", kind)
        assert (target, reason) == (str(target_of(lane, kind)), "at night")
        assert (after["paused_by"], after["paused_reason"]) == ("login:postgres", "at night")
        assert audits(lane, "resume", kind)[0][:2] == (str(target_of(lane, kind)), "morning")

    @pytest.mark.parametrize(("reason", "code"), [(None, "required"), ("", "required"), ("x" * 1001, "too_large")])
    def test_asks_for_a_reason(self, lane, refuses, kind, reason, code):
        with refuses(code, "p_reason"):
            self.pause(lane, kind, reason=reason)

    def test_ends_in_the_future_or_not_at_all(self, lane, refuses, clock, kind):
        with refuses("out_of_range", "p_until"):
            self.pause(lane, kind, until=clock.now())

    def test_of_something_unknown_is_refused(self, lane, refuses, kind):
        unknown = uuid4() if kind == "tenant" else "nothing"
        for verb in ("pause", "resume"):
            with refuses("unknown", f"p_{kind}"):
                lane.heart.rows(f"select {verb}_{kind}(%s, 'why')", [unknown])

    def test_leaves_what_runs_alone(self, lane, kind):
        claim = lane.take()
        self.pause(lane, kind)
        assert lane.heart.extend_one(claim) == 1
        assert lane.heart.complete_one(claim) == 1

    def test_said_again_says_the_last_word(self, lane, clock, kind):
        self.pause(lane, kind, reason="one")
        clock.move(5)
        self.pause(lane, kind, reason="two")
        assert self.state(lane, kind)[0] == clock.now()
        assert self.state(lane, kind)[3] == "two"


class TestATenantsOwnPause:
    def test_an_operator_s_pause_is_not_the_tenant_s_to_end(self, lane):
        job = lane.job()
        lane.heart.pause_definition()
        lane.heart.pause_lane(lane.tenant)
        lane.heart.resume_lane(lane.tenant)
        assert lane.claimed() == []
        lane.heart.resume_definition()
        assert lane.claimed() == [job]

    def test_all_lanes_and_one_lane_are_two_pauses(self, lane):
        job = lane.job()
        lane.heart.pause_lane(lane.tenant)
        lane.heart.pause_lane(lane.tenant, None)
        lane.heart.resume_lane(lane.tenant, None)
        assert lane.claimed() == []
        lane.heart.resume_lane(lane.tenant)
        assert lane.claimed() == [job]

    def test_it_is_written_down_in_the_tenant(self, lane):
        lane.heart.pause_lane(lane.tenant, reason="at night")
        lane.heart.pause_lane(lane.tenant, None, reason="all of it")
        found = lane.heart.rows(
            "select target, reason, actor from audit where tenant_id = %s and verb = 'pause' order by id", [lane.tenant]
        )
        assert found == [("echo", "at night", "tester"), ("*", "all of it", "tester")]


class TestTenants:
    def test_a_new_tenant_has_a_name_a_slug_and_a_weight(self, lane, clock):
        chosen = uuid4()
        found = lane.heart.value("create_tenant", slug="new-one", name="The new one", tenant=chosen, weight=7)
        assert found == chosen
        assert lane.heart.one(
            "select slug, name, is_system, created_at from tenant where tenant_id = %s", [chosen]
        ) == (
            "new-one",
            "The new one",
            False,
            clock.now(),
        )
        assert lane.heart.one("select weight from tenant_control where tenant_id = %s", [chosen]) == (7,)

    @pytest.mark.parametrize("slug", [None, "", "-a", "A", "a b", "a" * 64, "ä", "a.b"])
    def test_a_slug_that_is_none_is_refused(self, lane, refuses, slug):
        with refuses("malformed", "p_slug"):
            lane.heart.rows("select create_tenant(%s)", [slug])

    @pytest.mark.parametrize("slug", ["a", "0", "a" * 63, "a-b_c"])
    def test_a_slug_that_is_one_is_taken(self, lane, slug):
        assert lane.heart.tenant(slug)

    def test_slugs_and_ids_are_taken_once(self, lane, refuses):
        with refuses("conflict", "p_slug"):
            lane.heart.tenant("acme")
        with refuses("conflict", "p_tenant"):
            lane.heart.tenant("other", id=lane.tenant)

    @pytest.mark.parametrize("weight", [0, -1, 1001])
    def test_a_weight_is_1_to_1000(self, lane, refuses, weight):
        with refuses("out_of_range", "p_weight"):
            lane.heart.tenant("other", weight=weight)
        with refuses("out_of_range", "p_weight"):
            lane.heart.set_weight(lane.tenant, weight)

    def test_a_change_of_weight_is_written_down_with_both(self, lane):
        lane.heart.set_weight(lane.tenant, 9)
        assert lane.heart.one("select before, after from audit where verb = 'set_weight'") == (
            {"weight": 1},
            {"weight": 9},
        )
        assert lane.heart.one("select weight from tenant_control where tenant_id = %s", [lane.tenant]) == (9,)

    def test_the_system_s_own_tenant_can_be_served(self, lane):
        """The cursor of a claim begins before every tenant there can be."""
        (system,) = lane.heart.one("select tenant_id from tenant where is_system")
        job = lane.job()
        lane.heart.rows("update job set tenant_id = %s", [system])
        lane.heart.rows("update live set tenant_id = %s", [system])
        assert lane.claimed() == [job]

    def test_the_system_s_own_tenant_is_administered_and_not_entered(self, lane, refuses):
        (system,) = lane.heart.one("select tenant_id from tenant where is_system")
        with refuses("forbidden", "context"):
            lane.heart.rows("select job_id from enqueue(%s, 'echo', p_token => %s)", [system, sign(system, scope="a")])
        with refuses("forbidden", "p_tenant"):
            lane.heart.rows("select enter_tenant(%s, 'a', 'me')", [system])
        with refuses("unknown", "p_tenant"):
            lane.heart.rows("select map_login('me', %s)", [system])

    def test_the_audit_tells_both_tenants_of_a_login_that_changes_hands(self, lane, refuses):
        other = lane.heart.tenant("other")
        lane.heart.rows("select map_login('somebody', %s, 'a')", [lane.tenant])
        lane.heart.rows("select map_login('somebody', %s, 'r')", [lane.tenant])
        lane.heart.rows("select map_login('somebody', %s, 'o')", [other])
        lane.heart.rows("select unmap_login('somebody')")
        said = (
            "select verb, before ->> 'scope', after ->> 'scope' from audit"
            " where target = 'somebody' and tenant_id = %s order by id"
        )
        assert lane.heart.rows(said, [lane.tenant]) == [
            ("map_login", None, "a"),
            ("map_login", "a", "r"),
            ("unmap_login", "r", None),
        ]
        assert lane.heart.rows(said, [other]) == [("map_login", None, "o"), ("unmap_login", "o", None)]
        with refuses("required", "p_login"):
            lane.heart.rows("select map_login('', %s)", [lane.tenant])

    def test_an_id_before_which_no_claim_begins_is_refused(self, lane, refuses):
        for number in (0, 1):
            with refuses("out_of_range", "p_tenant"):
                lane.heart.tenant("nil", id=UUID(int=number))

    def test_a_suspension_asks_for_a_reason_and_says_who(self, lane, refuses, clock):
        with refuses("required", "p_reason"):
            lane.heart.suspend_tenant(lane.tenant, reason=None)
        lane.heart.suspend_tenant(lane.tenant, reason="unpaid")
        found = "select suspended_at, suspended_by, suspended_reason from tenant_control where tenant_id = %s"
        assert lane.heart.one(found, [lane.tenant]) == (clock.now(), "login:postgres", "unpaid")
        lane.heart.unsuspend_tenant(lane.tenant)
        assert lane.heart.one(found, [lane.tenant]) == (None, None, None)
        for verb in ("suspend", "unsuspend"):
            with refuses("unknown", "p_tenant"):
                lane.heart.rows(f"select {verb}_tenant(%s, 'why')", [uuid4()])

    def test_what_runs_of_a_suspended_tenant_goes_on(self, lane):
        claim = lane.take()
        lane.heart.suspend_tenant(lane.tenant)
        assert lane.heart.extend_one(claim) == 1
        assert lane.heart.complete_one(claim) == 1


def test_a_pause_that_outlasts_everybody_is_refused(lane, refuses):
    """A time that drivers cannot read would break every list it stands in."""
    for until in ("infinity", "9999-12-31"):
        with refuses("out_of_range", "p_until"):
            lane.heart.rows("select pause_queue('default', 'why', %s)", [until])
