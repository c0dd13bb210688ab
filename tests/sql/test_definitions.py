"""definitions.sql: code declares, sync writes it down; what an operator set stays in force until it is taken back."""

import pytest

APP = {"echo": {"max_attempts": 3, "timeout_seconds": 600, "backoff_jitter": 0}}


def in_force(lane, key="echo", *columns):
    return lane.heart.one(f"select {', '.join(columns)} from definition where key = %s", [key])


def changes(found):
    return {key: change for key, change, _ in found}


class TestSync:
    def test_says_what_it_did(self, lane):
        assert changes(lane.heart.sync(APP | {"mail": {}})) == {"echo": "unchanged", "mail": "added"}
        assert changes(lane.heart.sync(APP | {"mail": {"priority": 1}})) == {"echo": "unchanged", "mail": "changed"}
        assert changes(lane.heart.sync(APP)) == {"echo": "unchanged", "mail": "removed"}
        assert changes(lane.heart.sync(APP)) == {"echo": "unchanged", "mail": "gone"}
        assert changes(lane.heart.sync(APP | {"mail": {"priority": 1}})) == {"echo": "unchanged", "mail": "restored"}

    def test_a_check_says_the_same_and_changes_nothing(self, lane):
        wanted = {"mail": {}, "echo": {"priority": 1}}
        before = lane.heart.surface()
        checked = lane.heart.rows(
            "select key, change from check_definitions('main', %s::jsonb)",
            ['{"mail": {}, "echo": {"priority": 1}}'],
        )
        assert dict(checked) == {"mail": "added", "echo": "changed"}
        assert lane.heart.surface() == before
        assert changes(lane.heart.sync(wanted)) == dict(checked)

    def test_every_field_comes_into_force(self, lane):
        fields = {
            "queue": "mails", "description": "Sends one", "tags": ["a", "b"], "max_attempts": 9, "priority": 7,
            "timeout_seconds": 33, "backoff_kind": "list", "backoff_base_seconds": 1.5, "backoff_factor": 3,
            "backoff_cap_seconds": 60, "backoff_jitter": 0.5, "backoff_list_seconds": [1, 2.5], "is_enabled": True,
            "is_system": False, "schema": {"type": "object", "const": None},
        }  # fmt: skip
        lane.heart.define("mail", **fields)
        names = [name for name in fields if name not in ("queue", "schema")]
        assert in_force(lane, "mail", *names) == tuple(fields[name] for name in names)
        assert in_force(lane, "mail", "payload_schema") == ({"type": "object", "const": None},)
        assert in_force(lane, "mail", "queue_id") == (lane.heart.queue_id("mails"),)

    def test_defaults_are_those_of_the_columns(self, lane):
        lane.heart.define("plain")
        columns = lane.heart.rows(
            "select a.attname::text, pg_get_expr(d.adbin, d.adrelid) from pg_attribute a"
            " join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum"
            " where a.attrelid = 'definition'::regclass and a.attname not in ('app', 'declared', 'overrides',"
            " 'definition_hash', 'is_deleted_from_code', 'def_id')"
        )
        assert len(columns) >= 11
        for name, default in columns:
            (same,) = lane.heart.one(f"select {name} = {default} from definition where key = 'plain'")
            assert same, name

    def test_a_field_that_is_not_declared_any_more_has_its_default_again(self, lane):
        lane.heart.define("mail", priority=1)
        lane.heart.define("mail")
        assert in_force(lane, "mail", "priority") == (100,)

    def test_a_definition_that_left_the_code_is_marked_and_goes_on(self, lane):
        job = lane.job()
        lane.heart.sync({})
        assert in_force(lane, "echo", "is_deleted_from_code") == (True,)
        assert lane.claimed() == [job]

    def test_one_that_is_back_loses_the_mark_whether_its_text_changed_or_not(self, lane):
        for again in (APP, {"echo": {"priority": 1}}):
            lane.heart.sync({})
            assert in_force(lane, "echo", "is_deleted_from_code") == (True,)
            assert changes(lane.heart.sync(again)) == {"echo": "restored"}
            assert in_force(lane, "echo", "is_deleted_from_code") == (False,)

    def test_another_code_base_has_its_own_and_keeps_its_hands_off(self, lane, refuses):
        lane.heart.sync({"mail": {}}, app="billing")
        assert changes(lane.heart.sync({}, app="billing")) == {"mail": "removed"}
        assert in_force(lane, "echo", "is_deleted_from_code") == (False,)
        with refuses("conflict", "p_definitions"):
            lane.heart.sync({"echo": {}}, app="billing")

    def test_ids_stay(self, lane):
        before = lane.heart.def_id()
        lane.heart.sync({})
        lane.heart.sync({"echo": {"queue": "other"}})
        assert lane.heart.def_id() == before

    def test_each_change_is_written_down(self, lane):
        lane.heart.sync(APP | {"mail": {}})
        lane.heart.sync(APP)
        found = lane.heart.rows("select target, after ->> 'change' from audit where verb = 'sync' order by id")
        assert found[-2:] == [("mail", "added"), ("mail", "removed")]
        assert len(found) == 3, "what is unchanged leaves no row"


BAD = [
    ({"speed": 1}, "unknown", "speed"),
    ({"max_attempts": 0}, "out_of_range", "max_attempts"),
    ({"max_attempts": 101}, "out_of_range", "max_attempts"),
    ({"max_attempts": 1.5}, "out_of_range", "max_attempts"),
    ({"max_attempts": "3"}, "malformed", "max_attempts"),
    ({"max_attempts": None}, "malformed", "max_attempts"),
    ({"priority": -1}, "out_of_range", "priority"),
    ({"priority": 1001}, "out_of_range", "priority"),
    ({"timeout_seconds": 0}, "out_of_range", "timeout_seconds"),
    ({"timeout_seconds": 604801}, "out_of_range", "timeout_seconds"),
    ({"backoff_base_seconds": -1}, "out_of_range", "backoff_base_seconds"),
    ({"backoff_base_seconds": 3601}, "out_of_range", "backoff_base_seconds"),
    ({"backoff_factor": 0.5}, "out_of_range", "backoff_factor"),
    ({"backoff_factor": 11}, "out_of_range", "backoff_factor"),
    ({"backoff_cap_seconds": 0}, "out_of_range", "backoff_cap_seconds"),
    ({"backoff_cap_seconds": 86401}, "out_of_range", "backoff_cap_seconds"),
    ({"backoff_jitter": 1.1}, "out_of_range", "backoff_jitter"),
    ({"backoff_kind": "soon"}, "malformed", "backoff_kind"),
    ({"backoff_kind": None}, "malformed", "backoff_kind"),
    ({"backoff_kind": "list"}, "malformed", "backoff_list_seconds"),
    ({"backoff_kind": "list", "backoff_list_seconds": []}, "malformed", "backoff_list_seconds"),
    ({"backoff_kind": "list", "backoff_list_seconds": [1] * 101}, "malformed", "backoff_list_seconds"),
    ({"backoff_list_seconds": [-1]}, "out_of_range", "backoff_list_seconds"),
    ({"backoff_list_seconds": ["1"]}, "malformed", "backoff_list_seconds"),
    ({"is_enabled": "yes"}, "malformed", "is_enabled"),
    ({"is_enabled": None}, "malformed", "is_enabled"),
    ({"is_system": 1}, "malformed", "is_system"),
    ({"description": 5}, "malformed", "description"),
    ({"description": "x" * 2001}, "malformed", "description"),
    ({"queue": "a b"}, "malformed", "queue"),
    ({"queue": ""}, "malformed", "queue"),
    ({"queue": 5}, "malformed", "queue"),
    ({"tags": "a"}, "malformed", "tags"),
    ({"tags": [""]}, "malformed", "tags"),
    ({"tags": [5]}, "malformed", "tags"),
    ({"tags": ["x"] * 51}, "malformed", "tags"),
    ({"schema": "text"}, "malformed", "schema"),
    ({"schema": {"a": "x" * 262144}}, "malformed", "schema"),
]


@pytest.mark.parametrize(("fields", "code", "field"), BAD, ids=lambda value: str(value)[:40])
def test_a_field_or_value_that_is_none_is_refused_and_nothing_is_written(lane, refuses, fields, code, field):
    before = lane.heart.surface()
    with refuses(code, f"mail.{field}"):
        lane.heart.sync(APP | {"mail": fields})
    assert lane.heart.surface() == before
    if None not in fields.values():
        with refuses(code, f"p_overrides.{field}"):
            lane.heart.override("echo", **fields)


@pytest.mark.parametrize("key", ["", "a b", "-a", "x" * 121, "ä"])
def test_a_key_that_is_none_is_refused(lane, refuses, key):
    with refuses("malformed", "p_definitions"):
        lane.heart.sync({key: {}})


@pytest.mark.parametrize("app", ["", "a b", "x" * 64])
def test_a_code_base_has_a_name(lane, refuses, app):
    with refuses("malformed", "p_app"):
        lane.heart.sync({}, app=app)


class TestOverrides:
    def test_what_an_operator_set_wins_and_a_sync_leaves_it(self, lane):
        lane.heart.override("echo", max_attempts=9)
        assert in_force(lane, "echo", "max_attempts") == (9,)
        ((_, change, overrides),) = lane.heart.sync({"echo": {"max_attempts": 5, "priority": 1}})
        assert (change, overrides) == ("changed", {"max_attempts": 9})
        assert in_force(lane, "echo", "max_attempts", "priority") == (9, 1)

    def test_they_add_up_and_null_gives_a_field_back_to_the_code(self, lane):
        lane.heart.override("echo", max_attempts=9, priority=2)
        lane.heart.override("echo", max_attempts=None)
        assert in_force(lane, "echo", "max_attempts", "priority", "overrides") == (3, 2, {"priority": 2})

    def test_nulls_inside_a_schema_are_its_own(self, lane):
        schema = {"properties": {"a": {"const": None}}}
        lane.heart.override("echo", schema=schema)
        assert in_force(lane, "echo", "payload_schema") == (schema,)

    def test_they_are_judged_together_with_what_the_code_says(self, lane, refuses):
        lane.heart.override("echo", backoff_kind="list", backoff_list_seconds=[1])
        with refuses("malformed", "p_overrides.backoff_list_seconds"):
            lane.heart.override("echo", backoff_list_seconds=None)
        with refuses("malformed", "p_overrides"):
            lane.heart.rows("select override_definition('echo', '[]', 'why')")

    def test_a_forced_sync_takes_them_back(self, lane):
        lane.heart.override("echo", max_attempts=9)
        found = lane.heart.rows(
            "select key, change, overrides from force_definitions('main', %s::jsonb, 'tidy up')",
            ['{"echo": {"max_attempts": 3, "timeout_seconds": 600, "backoff_jitter": 0}}'],
        )
        assert found == [("echo", "unchanged", {})]
        assert in_force(lane, "echo", "max_attempts") == (3,)
        assert lane.heart.one("select before from audit where verb = 'force_sync'") == ({"max_attempts": 9},)

    def test_each_is_written_down_with_before_and_after(self, lane):
        lane.heart.override("echo", priority=1, reason="first")
        lane.heart.override("echo", priority=2, reason="second")
        found = lane.heart.rows("select reason, before, after from audit where verb = 'override' order by id")
        assert found == [("first", {}, {"priority": 1}), ("second", {"priority": 1}, {"priority": 2})]

    @pytest.mark.parametrize("verb", ["override_definition('echo', '{}', null)", "force_definitions('main', '{}', '')"])
    def test_they_ask_for_a_reason(self, lane, refuses, verb):
        with refuses("required", "p_reason"):
            lane.heart.rows(f"select from {verb}")

    def test_an_unknown_definition_is_refused(self, lane, refuses):
        with refuses("unknown", "p_definition"):
            lane.heart.override("nothing", priority=1)

    def test_a_running_attempt_keeps_its_deadline_and_the_next_has_the_new_one(self, lane):
        first = lane.take()
        lane.heart.override("echo", timeout_seconds=5)
        assert first.timeout_seconds == 600
        lane.heart.release_one(first)
        assert lane.claim_one().timeout_seconds == 5


class TestQueues:
    def test_a_queue_is_made_with_its_first_definition_or_by_hand(self, lane):
        lane.heart.define("mail", queue="mails")
        lane.heart.set_queue("by-hand", is_strict=True, ageing_seconds=5)
        found = {
            name: (is_strict, ageing)
            for name, is_strict, ageing in lane.heart.rows("select name, is_strict, ageing_seconds from queue")
        }
        assert found["mails"] == (False, 60)
        assert found["by-hand"] == (True, 5)

    def test_null_leaves_it_as_it_is(self, lane):
        lane.heart.set_queue("side", is_strict=True, ageing_seconds=5)
        lane.heart.set_queue("side", ageing_seconds=7)
        lane.heart.set_queue("side")
        assert lane.heart.one("select is_strict, ageing_seconds from queue where name = 'side'") == (True, 7)

    def test_it_is_written_down_with_before_and_after(self, lane):
        lane.heart.set_queue("side", is_strict=True, ageing_seconds=5)
        ((before, after),) = lane.heart.rows("select before, after from audit where verb = 'set' and target = 'side'")
        assert after == {"is_strict": True, "ageing_seconds": 5}
        assert before != after

    @pytest.mark.parametrize("ageing", [-1, 240000001])
    def test_its_ageing_has_bounds(self, lane, refuses, ageing):
        with refuses("out_of_range", "p_ageing_seconds"):
            lane.heart.set_queue(ageing_seconds=ageing)

    @pytest.mark.parametrize("name", [None, "", "a b", "x" * 121, "-a"])
    def test_its_name_has_a_shape(self, lane, refuses, name):
        with refuses("malformed", "p_queue"):
            lane.heart.set_queue(name)

    def test_the_steepest_ageing_still_gives_a_time(self, lane):
        """1,000 steps of the longest ageing lie within what a timestamp holds."""
        lane.heart.set_queue(ageing_seconds=240000000)
        job = lane.job(priority=1000)
        assert lane.claimed() == [job]


@pytest.mark.parametrize("fields", [{"max_attempts": 3.0}, {"priority": 7.0, "timeout_seconds": 60.0}])
def test_a_whole_number_may_be_written_with_a_point(lane, fields):
    lane.heart.define("echo", **fields)
    for name, value in fields.items():
        assert lane.heart.one(f"select {name} from definition where key = 'echo'") == (value,)


@pytest.mark.parametrize("number", ["1e-400", "1." + "0" * 1100])
def test_a_number_that_no_float_holds_is_refused_with_its_field(lane, refuses, number):
    with refuses("out_of_range", "echo.backoff_base_seconds"):
        lane.heart.rows(
            "select from sync_definitions('main', %s::jsonb)", [f'{{"echo": {{"backoff_base_seconds": {number}}}}}']
        )


@pytest.mark.parametrize(
    "field", ["queue", "tags", "description", "schema", "is_enabled", "backoff_kind", "max_attempts"]
)
def test_a_declaration_of_endless_numbers_is_refused_before_it_is_looked_at_as_text(lane, refuses, field):
    endless = f"jsonb_build_object('{field}', ('[' || repeat('1e131000,', 8999) || '1]')::jsonb)"
    with refuses("too_large", "big"):
        lane.heart.rows(f"select * from sync_definitions('main', jsonb_build_object('big', {endless}))")
    with refuses("too_large", "p_overrides"):
        lane.heart.rows(f"select override_definition('echo', {endless}, 'why')")
