"""What stands before the command: where the database is, how to answer."""

from dataclasses import dataclass

from laneway.cli.exits import CommandError, Exit

__all__ = ["Settings"]


@dataclass(slots=True)
class Settings:
    """Filled from the options and their environment variables before a command runs."""

    database_url: str | None = None
    json: bool = False
    verbosity: int = 0

    def database(self, given: str | None) -> str:
        """The one of the command, else the one before it, else the environment's."""
        url = given or self.database_url
        if not url:
            raise CommandError(
                "database_url: no database is named. Set LANEWAY_DATABASE_URL or give --database-url postgresql://...",
                code=Exit.USAGE,
            )
        return url
