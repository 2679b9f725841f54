"""Typed readers of the environment; a wrong value stops the start with one line."""

import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from runs.accounts import notify_urls
from runs.domain.values.errors import Invalid

T = TypeVar("T")

LONGEST_NAME = 60
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


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


def secret_key(name: str) -> str:
    """A key that cannot be guessed; the refusal never repeats it."""
    raw = text(name)
    if not raw or (len(raw) >= 32 and len(set(raw)) >= 10):
        return raw
    raise ImproperlyConfigured(
        f"{name}=… is not accepted; use at least 32 random characters, such as"
        ' `python3 -c "import secrets; print(secrets.token_urlsafe(50))"` prints.'
    )


def in_address(host: str) -> str:
    """As it stands in front of a port."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def networks(name: str) -> tuple[Network, ...]:
    """Addresses and networks, separated by commas."""
    found = []
    for part in names(name):
        try:
            found.append(ipaddress.ip_network(part))
        except ValueError as error:
            accepted = "addresses or networks such as 127.0.0.1,10.1.0.0/16"
            raise _refusal(name, part, accepted) from error
    return tuple(found)


def names(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text(name).split(",") if part.strip())


def machine_name(name: str, default: str) -> str:
    """What may stand before a colon; the system's own name is made to fit."""
    raw = text(name)
    if not raw:
        return _NO_NAME.sub("-", default)[:LONGEST_NAME] or "localhost"
    if _NO_NAME.search(raw) or len(raw) > LONGEST_NAME:
        raise _refusal(name, raw, f"at most {LONGEST_NAME} letters, digits, dots, dashes, _")
    return raw


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool


_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465, "smtp+ssl": 465}


def mail_server(name: str) -> MailServer | None:
    """`smtp://`, with STARTTLS `smtp+tls://`, with TLS from the start `smtps://`."""
    raw = text(name)
    if not raw:
        return None
    refusal = _refusal(name, "…", "smtp://USER:PASSWORD@HOST:PORT, or smtp+tls://, or smtps://")
    try:
        parts = urlsplit(raw)
        port = parts.port
    except ValueError as error:
        raise refusal from error
    if parts.scheme not in _MAIL_PORTS or not parts.hostname:
        raise refusal
    return MailServer(
        host=parts.hostname,
        port=port or _MAIL_PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme in ("smtps", "smtp+ssl"),
    )


def notify_addresses(name: str) -> tuple[str, ...]:
    """Apprise URLs, separated by commas; a refusal does not repeat them."""
    try:
        return notify_urls.read(text(name), name)
    except Invalid as error:
        said = "; ".join(problem.message for problem in error.problems)
        raise ImproperlyConfigured(f"{name}=… is not accepted: {said}.") from error


def _refusal(name: str, value: str, accepted: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is not accepted; use {accepted}.")
