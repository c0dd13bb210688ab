"""enqueue.sql: a job goes in with the caller's commit; a bad item is an answer with field, value and way out."""

from datetime import UTC, datetime, timedelta

import pytest

from language import EnqueueAnswer


def nested(levels):
    document: object = "x"
    for _ in range(levels):
        document = {"a": document}
    return document


class TestWhatIsWrittenDown:
    def test_a_plain_job(self, lane, clock):
        answer = lane.heart.enqueue(lane.tenant, payload={"a": [1, "ä", None]}, actor="user:7")
        assert answer == EnqueueAnswer(answer.job_id, created=True, refusal=None, field=None, value=None, hint=None)
        job, live = lane.row("job", answer.job_id), lane.row("live", answer.job_id)
        assert job["payload"] == {"a": [1, "ä", None]}
        assert (job["tenant_id"], job["created_by"], job["source"]) == (str(lane.tenant), "user:7", 0)
        assert (job["max_attempts"], job["priority"]) == (3, 100)
        assert (live["attempt"], live["max_attempts"], live["releases"], live["state"]) == (0, 3, 0, 0)
        assert lane.heart.one("select run_at from job where id = %s", [answer.job_id]) == (clock.now(),)

    def test_a_payload_is_an_empty_object_where_none_is_given(self, lane):
        assert lane.row("job", lane.job())["payload"] == {}

    def test_every_option_is_kept(self, lane, clock):
        job = lane.job(
            priority=5, delay_seconds=60, expires_seconds=600, max_attempts=9, timeout_seconds=33, dedupe_key="d",
            idempotency_key="i", labels={"a": "b"}, correlation_id="c", trace_id="t", source_ref="r",
        )  # fmt: skip
        row = lane.row("job", job)
        assert {name: row[name] for name in ("priority", "max_attempts", "timeout_seconds", "labels")} == {
            "priority": 5,
            "max_attempts": 9,
            "timeout_seconds": 33,
            "labels": {"a": "b"},
        }
        assert (row["correlation_id"], row["trace_id"], row["source_ref"], row["dedupe_key"]) == ("c", "t", "r", "d")
        run_at, expires_at = lane.heart.one("select run_at, expires_at from job where id = %s", [job])
        assert run_at == clock.now() + timedelta(seconds=60)
        assert expires_at == clock.now() + timedelta(seconds=600)
        later = lane.row("later", job)
        assert (later["priority"], later["max_attempts"], later["timeout_seconds"], later["is_keyed"]) == (
            5,
            9,
            33,
            True,
        )

    def test_the_definition_gives_what_the_call_does_not_say(self, lane):
        lane.heart.define("mail", queue="mails", max_attempts=7, priority=3)
        row = lane.row("live", lane.job("mail"))
        assert (row["max_attempts"], row["priority"], row["queue_id"]) == (7, 3, lane.heart.queue_id("mails"))

    def test_a_time_that_is_over_is_now(self, lane, clock):
        job = lane.job(run_at=clock.now() - timedelta(days=1))
        assert lane.phase(job) == "ready"
        assert lane.heart.one("select run_at from job where id = %s", [job]) == (clock.now(),)

    def test_a_time_to_come_is_kept_to_the_microsecond(self, lane, clock):
        at = clock.now() + timedelta(microseconds=1)
        job = lane.job(run_at=at)
        assert lane.phase(job) == "scheduled"
        assert lane.heart.one("select due_at from later where job_id = %s", [job]) == (at,)

    def test_nothing_stays_of_a_transaction_that_is_rolled_back(self, database, heart):
        heart.define()
        tenant = heart.tenant()
        before = heart.surface()
        conn = database.connect()
        with conn.transaction(force_rollback=True):
            heart.on(conn).enqueue(tenant, dedupe_key="k", idempotency_key="i", delay_seconds=5)
            heart.on(conn).enqueue(tenant)
        assert heart.surface() == before

    def test_ids_are_ordered_by_time_and_distinct(self, lane):
        jobs = [lane.job() for _ in range(20)] + [
            answer.job_id for answer in lane.heart.enqueue_many(lane.tenant, [{}] * 300)
        ]
        assert len(set(jobs)) == 320
        assert jobs == sorted(jobs)


REFUSED = [
    ({"definition": "nothing"}, "unknown", "definition", "nothing"),
    ({"definition": ""}, "unknown", "definition", ""),
    ({"payload": {"a": "x" * 262144}}, "too_large", "payload", "bytes"),
    ({"payload": nested(33)}, "too_deep", "payload", "more than 32"),
    ({"priority": -1}, "out_of_range", "priority", "-1"),
    ({"priority": 1001}, "out_of_range", "priority", "1001"),
    ({"delay_seconds": -0.001}, "out_of_range", "delay_seconds", "-0.001"),
    ({"delay_seconds": 315360001}, "out_of_range", "delay_seconds", "315360001"),
    ({"delay_seconds": float("nan")}, "out_of_range", "delay_seconds", "NaN"),
    ({"delay_seconds": float("inf")}, "out_of_range", "delay_seconds", "Infinity"),
    ({"run_at": datetime(2040, 1, 1, tzinfo=UTC)}, "out_of_range", "run_at", "2040"),
    ({"run_at": datetime(2000, 1, 1, tzinfo=UTC)}, "out_of_range", "run_at", "2000"),
    ({"run_at": datetime(2026, 1, 2, tzinfo=UTC), "delay_seconds": 5}, "out_of_range", "run_at", "2026"),
    ({"expires_seconds": 0}, "out_of_range", "expires_seconds", "0"),
    ({"expires_seconds": -5}, "out_of_range", "expires_seconds", "-5"),
    ({"expires_seconds": float("nan")}, "out_of_range", "expires_seconds", "NaN"),
    ({"max_attempts": 0}, "out_of_range", "max_attempts", "0"),
    ({"max_attempts": 101}, "out_of_range", "max_attempts", "101"),
    ({"timeout_seconds": 0}, "out_of_range", "timeout_seconds", "0"),
    ({"timeout_seconds": 604801}, "out_of_range", "timeout_seconds", "604801"),
    ({"dedupe_key": ""}, "malformed", "dedupe_key", ""),
    ({"dedupe_key": "x" * 501}, "malformed", "dedupe_key", "xxx"),
    ({"idempotency_key": ""}, "malformed", "idempotency_key", ""),
    ({"idempotency_key": "x" * 501}, "malformed", "idempotency_key", "xxx"),
    ({"dedupe": "skip"}, "malformed", "dedupe", "skip"),
    ({"dedupe_key": "k", "dedupe": "sometimes"}, "malformed", "dedupe", "sometimes"),
    ({"dedupe_window_seconds": 5}, "out_of_range", "dedupe_window_seconds", "5"),
    ({"dedupe_key": "k", "dedupe_window_seconds": -1}, "out_of_range", "dedupe_window_seconds", "-1"),
    ({"labels": []}, "malformed", "labels", "[]"),
    ({"labels": {"a": 1}}, "malformed", "labels", "a"),
    ({"labels": {"": "x"}}, "malformed", "labels", "x"),
    ({"labels": {"a": "x" * 201}}, "malformed", "labels", "xxx"),
    ({"labels": {"k" * 64: "x"}}, "malformed", "labels", "kkk"),
    ({"labels": {str(n): "x" for n in range(33)}}, "malformed", "labels", "x"),
    ({"correlation_id": ""}, "malformed", "correlation_id", ""),
    ({"correlation_id": "x" * 201}, "malformed", "correlation_id", "xxx"),
    ({"trace_id": "x" * 201}, "malformed", "trace_id", "xxx"),
    ({"source_ref": "x" * 501}, "malformed", "source_ref", "xxx"),
]
TAKEN = [
    {"payload": {"a": "x" * (262144 - 9)}},
    {"payload": nested(32)},
    {"priority": 0},
    {"priority": 1000},
    {"delay_seconds": 0},
    {"delay_seconds": 315360000},
    {"expires_seconds": 0.001},
    {"expires_seconds": 315360000},
    {"max_attempts": 1},
    {"max_attempts": 100},
    {"timeout_seconds": 1},
    {"timeout_seconds": 604800},
    {"dedupe_key": "x" * 500},
    {"idempotency_key": "x" * 500},
    {"dedupe_key": "k", "dedupe": "error"},
    {"dedupe_key": "k", "dedupe_window_seconds": 0},
    {"dedupe_key": "k", "dedupe_window_seconds": 31536000},
    {"labels": {}},
    {"labels": {"k" * 63: "x" * 200}},
    {"labels": {str(n): "" for n in range(32)}},
    {"correlation_id": "x" * 200},
    {"trace_id": "x" * 200},
    {"source_ref": "x" * 500},
]


def named(case):
    options = case[0] if isinstance(case, tuple) else case
    return "-".join(f"{key}={str(value)[:12]}" for key, value in options.items())


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_a_bad_item_is_an_answer_with_field_value_and_way_out(lane, case):
    options, code, field, value = case
    before = lane.heart.surface()
    answer = lane.heart.enqueue(lane.tenant, **options)
    assert (answer.job_id, answer.created, answer.refusal, answer.field) == (None, False, code, field)
    assert value in (answer.value or "")
    assert len(answer.value or "") <= 120
    assert (answer.hint or "").endswith(".")
    assert lane.heart.surface() == before


@pytest.mark.parametrize("case", TAKEN, ids=named)
def test_what_is_just_within_its_bounds_is_taken(lane, case):
    assert lane.heart.enqueue(lane.tenant, **case).created


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_a_bad_item_fails_none_of_the_items_beside_it(lane, case):
    options, code, field, _ = case
    before, bad, after = lane.heart.enqueue_many(lane.tenant, [{"payload": {"n": 0}}, options, {"payload": {"n": 2}}])
    assert (bad.created, bad.refusal, bad.field, bad.job_id) == (False, code, field, None)
    assert [lane.row("job", answer.job_id)["payload"] for answer in (before, after)] == [{"n": 0}, {"n": 2}]
    assert lane.heart.count("job") == 2
    assert lane.heart.count("live") == 2


def test_an_unknown_definition_is_told_with_the_nearest_known_one(lane):
    lane.heart.define("send-mail")
    assert 'Did you mean "send-mail"?' in (lane.heart.enqueue(lane.tenant, "send-mial").hint or "")


def test_of_several_near_names_the_nearest_is_told(lane):
    for key in ("send-mails", "send-mail", "send-m"):
        lane.heart.define(key)
    assert 'Did you mean "send-mail"?' in (lane.heart.enqueue(lane.tenant, "send-mial").hint or "")


def test_a_disabled_definition_and_a_suspended_tenant_take_nothing(lane):
    lane.heart.override("echo", is_enabled=False)
    answer = lane.heart.enqueue(lane.tenant)
    assert (answer.refusal, answer.field) == ("disabled", "definition")
    assert lane.heart.enqueue_many(lane.tenant, [{}, {}])[1].refusal == "disabled"
    lane.heart.override("echo", is_enabled=None)
    lane.heart.suspend_tenant(lane.tenant)
    for options in ({}, {"delay_seconds": 5}):
        answer = lane.heart.enqueue(lane.tenant, **options)
        assert (answer.refusal, answer.field) == ("suspended", "tenant")
        assert lane.heart.enqueue_many(lane.tenant, [options, options])[0].refusal == "suspended"
    lane.heart.unsuspend_tenant(lane.tenant)
    assert lane.heart.enqueue(lane.tenant).created


def test_a_paused_tenant_may_go_on_enqueueing(lane):
    lane.heart.pause_tenant(lane.tenant)
    assert lane.heart.enqueue(lane.tenant).created


class TestManyAtOnce:
    def test_answers_stand_in_the_order_of_the_items(self, lane):
        items = [{"payload": {"n": n}, "priority": 1001 if n % 3 == 0 else n} for n in range(50)]
        answers = lane.heart.enqueue_many(lane.tenant, items)
        for n, answer in enumerate(answers):
            if n % 3 == 0:
                assert answer.refusal == "out_of_range"
            else:
                row = lane.row("job", answer.job_id)
                assert (row["payload"], row["priority"]) == ({"n": n}, n)

    def test_each_item_has_its_own_definition_and_options(self, lane):
        lane.heart.define("mail", queue="mails", priority=1)
        answers = lane.heart.enqueue_many(
            lane.tenant,
            [
                {"definition": "mail", "delay_seconds": 5},
                {"definition": "echo", "max_attempts": 9},
                {"definition": "nothing"},
                {"definition": "mail", "labels": {"a": "b"}, "timeout_seconds": 7},
            ],
        )
        assert [answer.refusal for answer in answers] == [None, None, "unknown", None]
        first, second, _, fourth = answers
        assert (lane.phase(first.job_id), lane.phase(second.job_id)) == ("scheduled", "ready")
        assert lane.row("live", second.job_id)["max_attempts"] == 9
        mail = lane.row("job", fourth.job_id)
        assert (mail["def_id"], mail["labels"]) == (lane.heart.def_id("mail"), {"a": "b"})
        assert mail["queue_id"] == lane.heart.queue_id("mails")
        assert lane.row("live", fourth.job_id)["timeout_seconds"] == 7

    @pytest.mark.parametrize("count", [0, 10001])
    def test_a_call_has_1_to_10000_items(self, lane, refuses, count):
        with refuses("out_of_range", "p_payloads"):
            lane.heart.enqueue_many(lane.tenant, [{}] * count)

    def test_ten_thousand_are_taken_in_one_call(self, lane):
        answers = lane.heart.enqueue_many(lane.tenant, [{}] * 10000)
        assert all(answer.created for answer in answers)
        assert len({answer.job_id for answer in answers}) == 10000

    def test_a_call_has_at_most_16_mib(self, lane, refuses):
        with refuses("too_large", "p_payloads"):
            lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
            lane.heart.rows(
                "select from enqueue_many(%s, '{echo}', array("
                "select jsonb_build_object('a', string_agg(md5(i::text || n), ''))"
                " from generate_series(1, 90) n, generate_series(1, 7000) i group by n))",
                [lane.tenant],
            )

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("priorities", "integer"),
            ("delays_seconds", "float8"),
            ("dedupe_keys", "text"),
            ("labels", "jsonb"),
            ("trace_ids", "text"),
        ],
    )
    def test_arrays_of_different_lengths_are_refused(self, lane, refuses, name, kind):
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        for array in ("array[null, null, null]", "array[null]"):
            with refuses("malformed", "p_payloads"):
                lane.heart.rows(
                    "select from enqueue_many(%s, '{echo}', array['{}', '{}']::jsonb[],"
                    f" p_{name} => {array}::{kind}[])",
                    [lane.tenant],
                )

    def test_an_array_that_begins_elsewhere_than_at_1_is_refused(self, lane, refuses):
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        with refuses("malformed", "p_payloads"):
            lane.heart.rows(
                "select from enqueue_many(%s, '{echo}', array['{}', '{}']::jsonb[], p_dedupe_keys => '[0:1]={a,b}')",
                [lane.tenant],
            )


class TestSizeIsThatOfTheText:
    """What a worker gets is text: short in the database may be long for it."""

    def test_numbers_with_an_exponent(self, lane):
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        (refusal,) = lane.heart.one(
            "select refusal from enqueue(%s, 'echo',"
            " (select jsonb_agg('1e100000'::jsonb) from generate_series(1, 10)))",
            [lane.tenant],
        )
        assert refusal == "too_large"

    @pytest.mark.parametrize(
        ("number", "digits"), [("1." + "0" * 16000, 16000), ("1e-16000", 16000), ("1e100000", 100000)]
    )
    @pytest.mark.parametrize("count", [5, 30, 3000])
    def test_long_numbers(self, lane, number, digits, count):
        """Few bytes in the database, and megabytes of text."""
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        (refusal,) = lane.heart.one(
            "select refusal from enqueue(%s, 'echo', (select jsonb_agg(%s::jsonb) from generate_series(1, %s)))",
            [lane.tenant, number, count],
        )
        assert refusal == ("too_large" if digits * count > 262144 else None)

    @pytest.mark.parametrize("count", [17, 9000])
    def test_endless_numbers_among_jobs_of_one_definition_are_refused_as_an_item(self, lane, count):
        """Even the text of the smaller one is two megabytes; that of the larger one is more than a text can be."""
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        rows = lane.heart.rows(
            "select created, refusal from enqueue_many(%s, '{echo}',"
            " array['{}', ('[' || repeat('1e131071,', %s - 1) || '1e131071]')::jsonb])",
            [lane.tenant, count],
        )
        assert rows == [(True, None), (False, "too_large")]

    @pytest.mark.parametrize("size", [10, 300, 3000])
    def test_floats_near_zero_are_as_good_as_any(self, lane, size):
        assert lane.heart.enqueue(lane.tenant, payload={"p": [5e-324, 3.2e-310, 1.7e308], "pad": "x" * size}).created

    def test_labels_of_endless_numbers_are_refused_as_an_item(self, lane):
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        rows = lane.heart.rows(
            "select created, refusal, value from enqueue_many(%s, '{echo}', '{\"{}\",\"{}\"}',"
            " p_labels => array['{\"a\": \"b\"}', ('[' || repeat('1e131000,', 8999) || '1]')::jsonb])",
            [lane.tenant],
        )
        assert [row[:2] for row in rows] == [(True, None), (False, "malformed")]
        assert rows[1][2].startswith("array of ")

    @pytest.mark.parametrize("document", ["repeat('x', 3000000)", "repeat('x', 300000)"])
    def test_what_is_stored_compressed(self, lane, document):
        lane.heart.rows(
            f"create temporary table mine on commit drop as select jsonb_build_object('a', {document}) as a"
        )
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        (refusal,) = lane.heart.one("select e.refusal from mine, enqueue(%s, 'echo', mine.a) e", [lane.tenant])
        assert refusal == "too_large"

    def test_depth_of_what_is_stored_compressed(self, lane):
        lane.heart.rows(
            "create temporary table mine on commit drop as"
            " select (repeat('[', 40) || '\"' || repeat('x', 9000) || '\"' || repeat(']', 40))::jsonb as a"
        )
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        (refusal,) = lane.heart.one("select e.refusal from mine, enqueue(%s, 'echo', mine.a) e", [lane.tenant])
        assert refusal == "too_deep"

    @pytest.mark.parametrize("depth", [33, 1000, None])
    def test_an_abyss_is_answered_and_takes_no_other_item_with_it(self, lane, depth):
        depth = depth or lane.abyss()
        lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
        rows = lane.heart.rows(
            "select created, refusal"
            " from enqueue_many(%s, '{echo}', array['1', (repeat('[', %s) || repeat(']', %s))::jsonb])",
            [lane.tenant, depth, depth],
        )
        assert rows == [(True, None), (False, "too_deep")]
