"""`laneway worker`: runs the jobs of one application until it is told to stop."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from laneway.cli.application import answering, found_app
from laneway.cli.exits import Exit
from laneway.cli.settings import Settings

if TYPE_CHECKING:
    from laneway.worker.options import WorkerOptions
    from laneway.worker.worker import Worker

__all__ = ["add_to"]


def add_to(app: typer.Typer, settings: Settings) -> None:
    @app.command()
    def worker(
        application: Annotated[
            str | None, typer.Option("--app", envvar="LANEWAY_APP", help="The application, for example shop.jobs:app.")
        ] = None,
        queues: Annotated[
            str | None,
            typer.Option(
                "--queues", "-Q", help="The queues to serve, with commas between; all of its jobs' if not given."
            ),
        ] = None,
        concurrency: Annotated[
            int, typer.Option("--concurrency", "-c", min=1, max=10_000, help="How many jobs run at a time.")
        ] = 4,
        processes: Annotated[
            int, typer.Option(min=1, max=64, help="How many processes; the dead are started again.")
        ] = 1,
        lease: Annotated[
            int, typer.Option(min=5, max=3600, metavar="SECONDS", help="For how long a claim lasts unless extended.")
        ] = 60,
        shutdown_timeout: Annotated[
            float, typer.Option(min=0, max=3600, metavar="SECONDS", help="How long handlers may go on after TERM.")
        ] = 30,
        supervised_by: Annotated[int | None, typer.Option(hidden=True)] = None,
    ) -> None:
        """Run jobs. TERM or Ctrl-C lets those that run end; said twice, it tells them to stop."""
        from laneway.observe.log import log_to
        from laneway.worker.options import WorkerOptions
        from laneway.worker.supervisor import die_with

        options = WorkerOptions(
            queues=[name.strip() for name in queues.split(",") if name.strip()] if queues else (),
            concurrency=concurrency,
            lease_seconds=lease,
            shutdown_timeout_seconds=shutdown_timeout,
        )
        if supervised_by is not None:
            die_with(supervised_by)
        with answering():
            found = found_app(application, settings)
            log_to(level="DEBUG" if settings.verbosity else "INFO", as_json=True if settings.json else None)
            if processes == 1:
                asyncio.run(_run(found.worker(options)))
                return
        raise typer.Exit(asyncio.run(_supervise(_command_of(settings, application, options), processes, settings)))


def _command_of(settings: Settings, application: str | None, options: "WorkerOptions") -> list[str]:
    """Of one child; where the database is goes through its environment, which others cannot read."""
    said = ["--json"] * settings.json + ["-v"] * settings.verbosity
    queues = ["--queues", ",".join(options.queues)] if options.queues else []
    return [
        *(sys.executable, "-m", "laneway", *said, "worker", "--app", application or "", *queues),
        *("--concurrency", str(options.concurrency), "--lease", str(options.lease_seconds)),
        *("--shutdown-timeout", str(options.shutdown_timeout_seconds), "--supervised-by", str(os.getpid())),
    ]


async def _supervise(command: list[str], processes: int, settings: Settings) -> int:
    from laneway.worker.supervisor import Supervisor

    environment = dict(os.environ)
    if settings.database_url:
        environment["LANEWAY_DATABASE_URL"] = settings.database_url
    supervisor = Supervisor(
        command,
        processes,
        environment=environment,
        hopeless={Exit.USAGE, Exit.NOT_FOUND, Exit.NOT_ALLOWED},
        now=time.monotonic,
        random=Random(),  # noqa: S311 (jitter)
    )
    _stop_on_signals(supervisor.stop)
    return await supervisor.run()


async def _run(worker: "Worker") -> None:
    _stop_on_signals(worker.stop)
    await worker.run()


def _stop_on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
