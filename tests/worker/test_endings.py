"""How a handler may end, and what becomes of its job."""

import pytest

# what the handler does: state, outcome, the beginning of the reason
ENDINGS = {
    "id": ("succeeded", "succeeded", None),
    "object": ("failed", "failed", "result: object cannot be stored as JSON"),
    "nul": ("failed", "failed", "result: str cannot be stored as JSON: ValueError: a text in it holds U+0000"),
    "surrogate": ("failed", "failed", "result: str cannot be stored as JSON: UnicodeEncodeError"),
    "nan": ("failed", "failed", "result: float cannot be stored as JSON"),
    "large": ("failed", "failed", "What it gave back cannot be stored: at most 64 KiB"),
    "permanent": ("failed", "failed", "Permanent: no such folder"),
    "snooze": ("queued", "snoozed", "not yet"),
    "retry in": ("queued", "failed", "RetryIn: in 30 s"),
    "error": ("queued", "failed", "ValueError: how\N{REPLACEMENT CHARACTER}ever"),
    "exit": ("queued", "failed", "SystemExit: 3"),
    "interrupt": ("queued", "failed", "KeyboardInterrupt"),
    "cancel": ("queued", "failed", "CancelledError"),
}


@pytest.mark.parametrize("definition", ["end-as", "end-in-a-thread-as"])
def test_every_ending_is_kept_and_the_worker_lives_on(shop, definition):
    jobs = {how: shop.enqueue(definition, how=how) for how in ENDINGS}
    worker = shop.start("-c", "2")
    for how, job in jobs.items():
        shop.until_attempted(job)
        assert (shop.state(job), shop.outcomes(job)[0]) == ENDINGS[how][:2], how
        assert (shop.reason(job) or "").startswith(ENDINGS[how][2] or ""), how
    after = shop.enqueue("echo", text="after")
    shop.until_ended(after)
    assert worker.is_running
    assert shop.result(after) == "after"
    assert shop.result(jobs["id"]) == "00000000-0000-0000-0000-000000000007"


@pytest.mark.parametrize("payload", [{}, {"text": 7}, {"text": "a", "more": 1}], ids=str)
def test_a_payload_that_no_longer_fits_is_a_permanent_failure_that_names_the_field(shop, payload):
    job = shop.enqueue("end-as", **payload)
    shop.start()
    shop.until_ended(job)
    error = shop.heart.one("select error from attempt where job_id = %s", [job])[0]
    assert (shop.state(job), error["kind"]) == ("failed", "PayloadInvalid")
    assert {"path", "message", "value"} == set(error["errors"][0])


def test_a_handler_knows_its_tenant_and_what_it_enqueues_is_of_that_tenant(shop):
    job = shop.enqueue("whose")
    shop.start()
    shop.until_ended(job)
    assert shop.result(job) == {"tenant": str(shop.tenant), "current": str(shop.tenant), "key": f"{job}:1"}


def test_an_error_is_kept_with_its_kind_message_and_place(shop):
    job = shop.enqueue("end-as", how="error")
    shop.start()
    shop.until_attempted(job)
    error = shop.heart.one("select error from attempt where job_id = %s", [job])[0]
    assert (error["kind"], error["message"]) == ("ValueError", "how\N{REPLACEMENT CHARACTER}ever")
    assert "shop_jobs.py" in error["traceback"]
