"""What happens on the stage, in the order in which it is told."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg

from laneway.demo.stage import Claim, Stage, Tenant

__all__ = ["Done", "tell_story"]

Tell = Callable[[str], None]
ANSWERS = ("stale", "accepted", "duplicate", "busy", "refused")


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the jobs of one story."""

    enqueued: int
    completed: int
    """Counted by the answers `accepted`."""


def tell_story(conn: psycopg.Connection, tell: Tell, *, schema: str = "laneway", jobs: int = 300) -> Done:
    """Pushes jobs of two tenants through, so many of the noisy one and a third as many of the quiet one."""
    stage = Stage(conn, schema=schema)
    stage.ensure_key()
    acme, globex = stage.tenant("acme", weight=1), stage.tenant("globex", weight=3)
    stage.define()
    if left := _finish(stage).total():
        tell(f"{left} jobs were left over from an earlier run; they are served first.")
    hero = _enqueue(stage, tell, acme=acme, globex=globex, jobs=jobs)
    first = stage.claim(32)
    tell(f"A worker claims 32 jobs: {_shares(first, (acme, globex))}.")
    tell("A turn of globex is worth three of acme.")
    completed = _serve_hero(stage, tell, first, hero)
    completed += _drain(stage, tell, (acme, globex))
    _tell_attempts(stage, tell, acme, hero)
    tell(f"globex looks for acme's jobs in the table itself: it sees {stage.peek(globex, acme)}.")
    stage.leave()
    return Done(enqueued=jobs + jobs // 3, completed=completed)


def _enqueue(stage: Stage, tell: Tell, *, acme: Tenant, globex: Tenant, jobs: int) -> UUID:
    noisy = stage.enqueue(globex, range(jobs))
    quiet = stage.enqueue(acme, range(jobs // 3))
    tell(f"globex enqueues {len(noisy)} jobs, then acme {len(quiet)}: each in one call, one transaction.")
    tell(f"We follow job {quiet[0]} of acme. It is {stage.state(acme, quiet[0])}.")
    return quiet[0]


def _serve_hero(stage: Stage, tell: Tell, claims: Sequence[Claim], hero: UUID) -> int:
    """Fails our job once, completes the rest, claims it again and lets the old owner speak too late."""
    ours = next(claim for claim in claims if claim.job_id == hero)
    rest = [claim for claim in claims if claim.job_id != hero]
    completed = stage.complete(rest).count(1)
    failed = _word(stage.fail(ours, "no mail server"))
    tell(f"The worker completes {completed} of them in one call, and fails ours: {failed}.")
    again = stage.claim(32)
    second = next(claim for claim in again if claim.job_id == hero)
    tell(f"It claims 32 more, and ours is among them again, as attempt {second.attempt}.")
    tell(f"A late word about attempt {ours.attempt} (complete): {_word(stage.complete([ours]))}. It changes nothing.")
    answers = stage.complete(again)
    done = answers.count(1)
    word, repeated = _word(answers[again.index(second) :]), _word(stage.complete([second]))
    tell(f"Attempt {second.attempt} completes: {word}. Said again after a cut: {repeated}.")
    return completed + done


def _finish(stage: Stage) -> Counter[UUID]:
    """Serves what is ready until nothing is; answers how many of each tenant."""
    served: Counter[UUID] = Counter()
    stage.sweep_and_promote()
    while claims := stage.claim(32):
        answers = stage.complete(claims)
        served.update(claim.tenant_id for claim, answer in zip(claims, answers, strict=True) if answer == 1)
    return served


def _drain(stage: Stage, tell: Tell, tenants: tuple[Tenant, Tenant]) -> int:
    served = _finish(stage)
    told = ", ".join(f"{tenant.slug} {served[tenant.tenant_id]}" for tenant in tenants)
    tell(f"The rest is served in turns until nothing is left: {told}.")
    return served.total()


def _tell_attempts(stage: Stage, tell: Tell, tenant: Tenant, job: UUID) -> None:
    tell(f"What is written down about {job}, now {stage.state(tenant, job)}:")
    for attempt in stage.attempts(tenant, job):
        reason = f" ({attempt.reason})" if attempt.reason else ""
        tell(f"  attempt {attempt.attempt}  {attempt.started_at:%H:%M:%S.%f}  {attempt.outcome}{reason}")


def _shares(claims: Sequence[Claim], tenants: tuple[Tenant, Tenant]) -> str:
    counts = Counter(claim.tenant_id for claim in claims)
    return ", ".join(f"{counts[tenant.tenant_id]} of {tenant.slug}" for tenant in tenants)


def _word(answers: Sequence[int]) -> str:
    return ANSWERS[answers[0]]
