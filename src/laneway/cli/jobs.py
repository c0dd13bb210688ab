"""`laneway jobs`: a tenant's jobs are listed, looked at, put in and acted upon."""

import json
import sys
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from laneway.cli.application import answering, plain_app
from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from laneway.model.job import JobAnswer

__all__ = ["add_to"]

Tenant = Annotated[UUID, typer.Option("--tenant", envvar="LANEWAY_TENANT", help="Whose jobs: the tenant's id.")]
Jobs = Annotated[list[UUID], typer.Argument(metavar="JOB...", help="Ids of jobs.")]
Reason = Annotated[str | None, typer.Option(help="Why; it goes into the audit.")]

# What an operator's verb may answer that is no failure.
_DONE = frozenset({"canceled", "requested", "queued"})


def add_to(app: typer.Typer, settings: Settings) -> None:
    group = typer.Typer(help="A tenant's jobs.", no_args_is_help=True)
    _add_looks(group, settings)
    _add_enqueue(group, app, settings)
    _add_verbs(group, settings)
    app.add_typer(group, name="jobs")


def _add_looks(group: typer.Typer, settings: Settings) -> None:
    @group.command("list")
    def list_(
        tenant: Tenant,
        state: Annotated[
            str | None,
            typer.Option("--state", "--status", help="queued, scheduled, retrying, waiting, running, succeeded, .."),
        ] = None,
        definition: Annotated[
            str | None, typer.Option("--definition", "--type", help="Of this definition alone.")
        ] = None,
        queue: Annotated[str | None, typer.Option(help="Of this queue alone.")] = None,
        limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many.")] = 50,
        cursor: Annotated[UUID | None, typer.Option(help="Where an earlier page ended.")] = None,
    ) -> None:
        """List jobs, newest first."""
        from laneway.cli.tables import ago, document, document_of, table
        from laneway.database.calls.read import JobFilter

        jobs = JobFilter(state=state, definition=definition, queue=queue)
        with answering():
            page = plain_app(settings).client.list_jobs(jobs, tenant=tenant, before=cursor, limit=limit)
        if settings.json:
            document({"items": [document_of(job) for job in page.jobs], "next_cursor": page.next_before})
            return
        rows = [
            (
                job.job_id,
                job.definition,
                job.state,
                f"{job.attempt}/{job.max_attempts}",
                ago(job.created_at),
                job.reason,
            )
            for job in page.jobs
        ]
        titles = ("id", "definition", "state", "attempt", "created", "reason")
        table(titles, rows, empty="No job of this tenant matches.")
        if page.next_before is not None:
            typer.echo(f"More: --cursor {page.next_before}", err=True)

    @group.command()
    @group.command("get", hidden=True)
    def show(job: UUID, tenant: Tenant) -> None:
        """Show all that is known of one job."""
        from laneway.cli.tables import document, document_of

        with answering():
            client = plain_app(settings).client
            found = client.get_job(job, tenant=tenant)
            if found is None:
                raise CommandError(f"job: this tenant has no job {job}. See laneway jobs list.", code=Exit.NOT_FOUND)
            attempts = client.list_attempts(job, tenant=tenant)
        if settings.json:
            document({**document_of(found), "attempts": [document_of(attempt) for attempt in attempts]})
            return
        for name, value in document_of(found).items():
            if value is not None:
                typer.echo(f"{name:20} {_shown(value)}")
        for attempt in attempts:
            line = f"attempt {attempt.attempt}: {attempt.outcome}"
            typer.echo(f"{line}, {attempt.reason}" if attempt.reason else line)


def _add_enqueue(group: typer.Typer, app: typer.Typer, settings: Settings) -> None:
    @app.command("enqueue")
    @group.command("enqueue")
    def enqueue(
        definition: Annotated[str, typer.Argument(metavar="KEY", help="The definition's key.")],
        tenant: Tenant,
        payload: Annotated[str, typer.Option(help="JSON, @file, or - for standard input.")] = "{}",
        delay: Annotated[str | None, typer.Option(help="How long to wait first, for example 10m.")] = None,
        priority: Annotated[int | None, typer.Option(help="0 (first) to 1000.")] = None,
        dedupe_key: Annotated[str | None, typer.Option(help="At most one active job of this key.")] = None,
        idempotency_key: Annotated[str | None, typer.Option(help="The same key again gives the same job.")] = None,
        wait: Annotated[
            str | None, typer.Option(metavar="TIME", help="Wait so long for its end, for example 30s.")
        ] = None,
    ) -> None:
        """Put one job in. Its payload is checked against the definition's schema when it runs."""
        from laneway.cli.tables import document, document_of
        from laneway.durations import seconds_of
        from laneway.handle import JobHandle, refused_of
        from laneway.model.item import Item

        text = _payload(payload)
        with answering():
            client = plain_app(settings).client
            item = Item(
                definition,
                text,
                delay_seconds=None if delay is None else seconds_of(delay),
                priority=priority,
                dedupe_key=dedupe_key,
                idempotency_key=idempotency_key,
            )
            answer = client.enqueue(item, tenant=tenant)
            if answer.refusal is not None:
                raise refused_of(answer.refusal)
            ended = None if wait is None else JobHandle(answer, tenant, lambda result: result, client).wait(wait)
        if settings.json:
            document(
                {"id": answer.job_id, "created": answer.created}
                | ({} if ended is None else {"job": document_of(ended)})
            )
        else:
            typer.echo(f"{answer.job_id} {'is new' if answer.created else 'was there before'}")
            if ended is not None:
                typer.echo(f"{ended.state}{f': {ended.reason}' if ended.reason else ''}")
        if ended is not None and ended.state != "succeeded":
            raise typer.Exit(Exit.JOB_FAILED)


def _add_verbs(group: typer.Typer, settings: Settings) -> None:
    @group.command()
    def cancel(jobs: Jobs, tenant: Tenant, reason: Reason = None) -> None:
        """Cancel queued jobs; ask the workers of running ones to stop."""
        with answering():
            _answer(settings, plain_app(settings).client.cancel(jobs, tenant=tenant, reason=reason))

    @group.command()
    def retry(jobs: Jobs, tenant: Tenant, reason: Reason = None) -> None:
        """Put jobs that failed or were canceled back into their queue."""
        with answering():
            _answer(settings, plain_app(settings).client.retry(jobs, tenant=tenant, reason=reason))

    @group.command()
    def run_now(jobs: Jobs, tenant: Tenant, reason: Reason = None) -> None:
        """Make scheduled jobs due at once."""
        with answering():
            _answer(settings, plain_app(settings).client.run_now(jobs, tenant=tenant, reason=reason))


def _answer(settings: Settings, answers: "Sequence[JobAnswer]") -> None:
    from laneway.cli.tables import document, document_of, table

    if settings.json:
        document({"items": [document_of(answer) for answer in answers]})
    else:
        rows = [(answer.job_id, answer.answer, answer.state) for answer in answers]
        table(("id", "answer", "state"), rows, empty="No job was named.")
    if any(answer.answer == "not_found" for answer in answers):
        raise typer.Exit(Exit.NOT_FOUND)
    if any(answer.answer not in _DONE for answer in answers):
        raise typer.Exit(Exit.CONFLICT)


def _payload(given: str) -> str:
    """JSON text, checked here: the position of a slip is worth more than the server's word."""
    if given == "-":
        text = sys.stdin.read()
    elif given.startswith("@"):
        try:
            text = Path(given[1:]).read_text("utf-8")
        except OSError as error:
            raise CommandError(f"payload: {given[1:]} cannot be read: {error.strerror}.", code=Exit.USAGE) from error
    else:
        text = given
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise CommandError(
            f"payload: line {error.lineno}, column {error.colno}: {error.msg}. Give JSON, for example '{{\"id\": 7}}'.",
            code=Exit.USAGE,
        ) from error
    return text


def _shown(value: object) -> str:
    from datetime import datetime

    from laneway.cli.tables import ago

    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z, {ago(value)}"
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
