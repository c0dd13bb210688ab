"""`laneway worker`: runs the jobs of one application until it is told to stop."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from laneway.cli.application import answering, found_app
from laneway.cli.settings import Settings

if TYPE_CHECKING:
    from laneway.worker.worker import Worker

__all__ = ["add_to"]


def add_to(app: typer.Typer, settings: Settings) -> None:
    @app.command()
    def worker(  # pyright: ignore[reportUnusedFunction]
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
        lease: Annotated[
            int, typer.Option(min=5, max=3600, metavar="SECONDS", help="For how long a claim lasts unless extended.")
        ] = 60,
        shutdown_timeout: Annotated[
            float, typer.Option(min=0, max=3600, metavar="SECONDS", help="How long handlers may go on after TERM.")
        ] = 30,
    ) -> None:
        """Run jobs. TERM or Ctrl-C lets those that run end; said twice, it tells them to stop."""
        from laneway.observe.log import log_to
        from laneway.worker.options import WorkerOptions

        options = WorkerOptions(
            queues=[name.strip() for name in queues.split(",") if name.strip()] if queues else (),
            concurrency=concurrency,
            lease_seconds=lease,
            shutdown_timeout_seconds=shutdown_timeout,
        )
        with answering():
            found = found_app(application, settings)
            log_to(level="DEBUG" if settings.verbosity else "INFO", as_json=True if settings.json else None)
            asyncio.run(_run(found.worker(options)))


async def _run(worker: "Worker") -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    await worker.run()
