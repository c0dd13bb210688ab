"""The client's verbs against a real database: what each answers, and what an error says."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from laneway import Laneway
from laneway.errors import (
    ConfigurationError,
    ConnectionLost,
    JobFailed,
    PayloadInvalid,
    Refused,
    ResultTimeout,
    TenantRequired,
)
from laneway.model.item import Item
from laneway.states import JobState


@pytest.fixture
def add(shop):
    return shop.app.jobs.job_for("add")


def test_a_tenant_is_the_one_given_or_that_of_the_block_and_never_guessed(shop, add):
    with pytest.raises(TenantRequired, match="nobody said whose job"):
        add.enqueue(1)
    with pytest.raises(TenantRequired, match='"acme" is not the id'):
        add.using(tenant="acme").enqueue(1)
    with shop.app.tenant(str(shop.tenant)):
        handle = add.enqueue(1)
    assert handle.tenant == shop.tenant
    with pytest.raises(TenantRequired):
        add.enqueue(1)


def test_a_payload_is_checked_before_anything_is_sent(add):
    with pytest.raises(PayloadInvalid, match="/a: Input should be a valid integer"):
        add.using(tenant=uuid4()).enqueue("one")


def test_the_same_idempotency_key_gives_the_earlier_job(shop, add):
    first = add.using(tenant=shop.tenant, idempotency_key="order-7").enqueue(1)
    second = add.using(tenant=shop.tenant, idempotency_key="order-7").enqueue(1)
    assert (first.created, second.created, first.id) == (True, False, second.id)


def test_options_reach_the_database(shop, add, clock):
    at = clock.now() + timedelta(hours=2)
    labels = {"team": "media"}
    ids = {"correlation_id": "c", "trace_id": "t"}
    using = add.using(tenant=shop.tenant, at=at, priority=7, max_attempts=9, labels=labels, **ids)
    job = shop.app.client.get_job(using.enqueue(1).id, tenant=shop.tenant)
    assert (job.state, job.scheduled_for, job.priority, job.max_attempts) == (JobState.QUEUED, at, 7, 9)
    assert (job.labels, job.correlation_id, job.trace_id) == (labels, "c", "t")
    assert (job.payload, job.created_by) == ({"a": 1, "b": 2}, "app")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"prioritty": 1}, 'Did you mean "priority"'),
        ({"ordering_key": "x"}, "is not available in this release"),
        ({"at": datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001 (that is the point)
    ],
    ids=str,
)
def test_an_option_that_is_none_is_refused_by_name(shop, add, option, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        add.using(tenant=shop.tenant, **option).enqueue(1)


def test_many_at_once_are_answered_in_their_order(shop, add):
    items = [add.item(n) if n != 3 else Item("nothing") for n in range(6)]
    answers = add.using(tenant=shop.tenant).enqueue_many(items)
    assert [answer.created for answer in answers] == [True, True, True, False, True, True]
    assert (answers[3].refusal.code, answers[3].refusal.field) == ("unknown", "definition")
    assert shop.ids() == [answer.job_id for answer in answers if answer.created]


def test_a_stream_of_jobs_goes_in_by_the_thousand_and_says_how_far_it_is(shop, add):
    progress = []
    stream = (add.item(n) for n in range(2_500))
    answers = list(shop.app.client.enqueue_stream(stream, tenant=shop.tenant, on_progress=progress.append))
    assert [answer.job_id for answer in answers] == shop.ids()
    assert progress == [1_000, 2_000, 2_500]


def test_all_jobs_of_a_filter_are_walked_page_by_page(shop, add):
    list(shop.app.client.enqueue_stream((add.item(n) for n in range(450)), tenant=shop.tenant))
    found = [job.job_id for job in shop.app.client.jobs(tenant=shop.tenant)]
    assert found == shop.ids()[::-1]


def test_an_operator_s_verbs_answer_per_job(shop, add):
    client, job = shop.app.client, add.using(tenant=shop.tenant, delay="1h").enqueue(1).id
    nobody = uuid4()
    assert [answer.answer for answer in client.run_now([job, nobody], tenant=shop.tenant)] == ["queued", "not_found"]
    assert [a.answer for a in client.reschedule([job], tenant=shop.tenant, delay_seconds=60)] == ["queued"]
    (canceled,) = client.cancel([job], tenant=shop.tenant, reason="no more")
    assert (canceled.answer, canceled.state) == ("canceled", JobState.CANCELED)
    assert [answer.answer for answer in client.retry([job], tenant=shop.tenant)] == ["queued"]
    assert client.run_again(job, tenant=shop.tenant, payload='{"a": 5}').created
    assert client.list_attempts(job, tenant=shop.tenant) == []


def test_waiting_ends_with_what_became_of_the_job(shop, add):
    handle = add.using(tenant=shop.tenant).enqueue(1)
    with pytest.raises(ResultTimeout, match="has not ended within 0 s"):
        handle.wait(0)
    shop.app.client.cancel([handle.id], tenant=shop.tenant)
    assert handle.wait("1s").state is JobState.CANCELED


def test_the_awaited_form_says_the_same(shop, add):
    async def story():
        handle = await add.using(tenant=shop.tenant).aenqueue(1)
        try:
            with pytest.raises(ResultTimeout):
                await handle.result(0)
            many = await add.using(tenant=shop.tenant).aenqueue_many([add.item(2)])
            stream = shop.app.aclient.enqueue_stream([add.item(3)], tenant=shop.tenant)
            streamed = [answer async for answer in stream]
            return [handle.id, *(answer.job_id for answer in [*many, *streamed])]
        finally:
            await shop.app.aclose()

    assert asyncio.run(story()) == shop.ids()


def test_no_database_is_an_error_that_says_where_to_name_one(monkeypatch):
    monkeypatch.delenv("LANEWAY_DATABASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="Set LANEWAY_DATABASE_URL"):
        Laneway().client  # noqa: B018 (looked up when it is asked for)


def test_a_key_that_is_none_is_refused_without_showing_it():
    with pytest.raises(ConfigurationError, match="context_key: the value is not a key") as caught:
        Laneway("postgresql:///x", context_key="k1:secret").client  # noqa: B018 (as above)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_said_in_time_and_nothing_was_sent():
    app = Laneway("host=/nowhere dbname=x connect_timeout=2", connections=1, patience_seconds=0.5)
    job = app.job(lambda_like)
    with pytest.raises(ConnectionLost, match="Nothing was sent"):
        job.using(tenant=uuid4()).enqueue()
    app.close()


def lambda_like() -> None:
    """Does nothing."""


def test_a_login_that_may_not_is_told_so(shop):
    app = Laneway(shop.database.dsn("worker"))
    job = app.job(lambda_like)
    with pytest.raises(Refused) as caught:
        job.using(tenant=shop.tenant).enqueue()
    assert caught.value.code == "forbidden"
    app.close()


def test_a_job_that_failed_is_an_error_with_its_last_word(shop, add):
    handle = add.using(tenant=shop.tenant).enqueue(1)
    with shop.database.connect() as conn:
        worker = uuid4()
        conn.execute("select 1 from register_worker(%s, 'h', 1, '1', 1, '{default}', '{add}')", [worker])
        conn.execute("select 1 from claim(%s, 'default', 1)", [worker])
        conn.execute(
            "select fail(%s, array[%s], array[%s], '{1}', p_permanent => '{true}', p_reasons => '{broken}')",
            [worker, shop.tenant, handle.id],
        )
    with pytest.raises(JobFailed, match="is failed: broken") as caught:
        handle.result("5s")
    assert caught.value.attempts == 1


def test_times_are_aware(shop, add):
    job = shop.app.client.get_job(add.using(tenant=shop.tenant).enqueue(1).id, tenant=shop.tenant)
    assert job.created_at.astimezone(UTC) == job.created_at
