"""How the site's own processes write their logs: without secrets, and calm when a part is down."""

import json
import logging
import time
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError

from runs.jobs import log_context

# Seconds in which the same trouble is told once.
CALM = 30.0

# Classes of PostgreSQL's SQLSTATE: connection, resources, shut down or starting up.
_AWAY = ("08", "53", "57P")


class Formatter(logging.Formatter):
    """An outage of the database is one line; the stack of whoever asked it says nothing more."""

    def formatException(self, ei: Any) -> str:  # noqa: N802  its name there
        error = ei[1]
        if isinstance(error, OperationalError | InterfaceError) and _is_outage(error):
            return str(error).partition("\n")[0]
        return super().formatException(ei)


class SecretFree(Formatter):
    """A line as usual, with its traceback, without what only looks like a secret or is one."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  its name there
        return f"{super().formatMessage(record)}{log_context.marks()}"

    def format(self, record: logging.LogRecord) -> str:
        return concealed(super().format(record))


class AsJson(Formatter):
    """One object a line, for programs that collect logs."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": log_context.request_id.get(),
            "run_id": log_context.run_id.get(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        told = {
            key: concealed(value) if isinstance(value, str) else value
            for key, value in line.items()
        }
        return json.dumps({key: value for key, value in told.items() if value != ""}, default=str)


class Calm(logging.Filter):
    """Lets the same warning through once in a while, and says how many were held back."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        kind, now = (record.name, record.levelno, str(record.msg)), time.monotonic()
        since, held_back = self._told.get(kind, (-CALM, 0))
        if now - since < CALM:
            self._told[kind] = (since, held_back + 1)
            return False
        self._told[kind] = (now, 0)
        if held_back:
            record.msg = f"{record.getMessage()} ({held_back} more like this since the last.)"
            record.args = ()
        return True


class AnswersToProbes(logging.Filter):
    """Leaves out "Service Unavailable" of a probe: it is the probe's answer, not a fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(getattr(record, "request", None), "path", "") != "/readyz"


def _is_outage(error: Exception) -> bool:
    """Whether the database is away, busy or full; a wrong statement of ours is no outage."""
    cause = error.__cause__
    if name := getattr(cause, "sqlite_errorname", ""):
        return bool(name != "SQLITE_ERROR")
    state = getattr(cause, "sqlstate", None)
    return state is None or str(state).startswith(_AWAY)


def concealed(text: str) -> str:
    from runs.domain.values.secrets.redaction import redact  # noqa: PLC0415  not at every start

    return redact(text, _own())


@cache
def _own() -> tuple[str, ...]:
    from runs.domain.values.secrets.redaction import SECRET_SETTINGS  # noqa: PLC0415

    return tuple(str(getattr(settings, name)) for name in SECRET_SETTINGS)
