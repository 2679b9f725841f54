"""Typed readers of the environment; a wrong value stops the start with one line."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import environ
from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def number(name: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
    raw = text(name)
    if not raw:
        return default
    if raw.isascii() and raw.isdecimal() and least <= int(raw) <= most:
        return int(raw)
    raise _refusal(name, raw, f"a whole number from {least} to {most}")


def flag(name: str, *, default: bool = False) -> bool:
    raw = text(name).lower()
    if not raw:
        return default
    if raw in ("1", "true", "yes", "on"):
        return True
    if raw in ("0", "false", "no", "off"):
        return False
    raise _refusal(name, raw, "1, true, yes, on, 0, false, no or off")


def choice(name: str, default: str, accepted: tuple[str, ...]) -> str:
    raw = text(name, default)
    if raw in accepted:
        return raw
    raise _refusal(name, raw, " or ".join(accepted))


def names(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text(name).split(",") if part.strip())


def parsed(name: str, default: str, read: Callable[[str], T], accepted: str) -> T:
    """A value with a grammar of its own, read by a function that raises ValueError."""
    raw = text(name, default)
    try:
        return read(raw)
    except ValueError as error:
        raise _refusal(name, raw, accepted) from error


def database(name: str, sqlite_file: Path) -> dict[str, object]:
    """Django's database settings; the options are what keeps an answer once it was taken."""
    raw = text(name)
    if raw.startswith(("postgres://", "postgresql://")):
        config: dict[str, Any] = dict(environ.Env.db_url_config(raw))
        # No pool: the worker forks, and a pool's sockets must not be shared between processes.
        # Connections last, so the few statements of a step are worth preparing.
        options = {"server_side_binding": True, "prepare_threshold": 3}
        return {
            **config,
            "ENGINE": "faber_site.postgres",
            "OPTIONS": {**options, **config.get("OPTIONS", {})},
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
        }
    if raw.startswith("sqlite:///"):
        sqlite_file = Path(raw.removeprefix("sqlite:///"))
    elif raw:
        raise _refusal(name, raw.split("://")[0] + "://…", "postgres://… or sqlite:///…")
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": sqlite_file,
        # The queue asks for a connection at every look; opening the file anew costs more than that.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }


def _refusal(name: str, value: str, accepted: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is not accepted; use {accepted}.")
