"""How a command ends: the exit codes, and the error that carries one."""

from enum import IntEnum

__all__ = ["CommandError", "Exit"]


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    NOT_ALLOWED = 5
    NOT_CONNECTED = 6
    JOB_FAILED = 7
    FOUND_SOMETHING = 8
    TIMED_OUT = 124
    INTERRUPTED = 130


class CommandError(Exception):
    """One sentence for the person at the terminal, and how the command ends."""

    def __init__(self, sentence: str, *, code: Exit) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
