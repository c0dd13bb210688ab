"""Log lines: one JSON object each for machines, plain ones on a terminal. The library itself only calls `logging`."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

__all__ = ["FIELDS", "JsonFormatter", "PlainFormatter", "log_to"]

# What a line says about a job, when it is about one; given by `extra=`.
FIELDS = (
    "worker_id",
    "tenant_id",
    "job_id",
    "definition_key",
    "attempt_no",
    "correlation_id",
    "trace_id",
    "duration_ms",
)
_SHORT = 8


class JsonFormatter(logging.Formatter):
    """`timestamp`, `level`, `logger`, `message`, and the fields that the line has."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class PlainFormatter(logging.Formatter):
    """Time, level and message; behind it which job it is about, as short as it can be told apart."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        about = [str(value) for name in ("definition_key", "job_id") if (value := getattr(record, name, None))]
        tail = f"  [{' '.join(text if len(text) < 2 * _SHORT else text[-_SHORT:] for text in about)}]" if about else ""
        line = f"{at} {record.levelname.lower():7} {record.getMessage()}{tail}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def log_to(stream: TextIO | None = None, *, level: str = "INFO", as_json: bool | None = None) -> None:
    """Sends Laneway's lines to a stream, as JSON where nobody sits before it. Says nothing about other loggers."""
    target = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(target)
    handler.setFormatter(JsonFormatter() if (not target.isatty() if as_json is None else as_json) else PlainFormatter())
    logger = logging.getLogger("laneway")
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False
