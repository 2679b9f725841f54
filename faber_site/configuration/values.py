"""Kinds of values a variable may have; each says what it accepts when it is given another."""

import contextlib
import ipaddress
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from feedback.channels.callbacks import addresses
from runs.accounts import notify_urls
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid
from runs.domain.workflow.definition import LABEL

LONGEST_NAME = 60
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*", re.ASCII)
_ALLOWED_HOST = re.compile(rf"\*|\.?{_HOST.pattern}|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_LOGIN = re.compile(r"\w[\w.-]*", re.ASCII)
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NotAccepted(ValueError):
    """Says what would be, and shows what was given: all of it, a part, or nothing of a secret."""

    def __init__(self, accepted: str, part: str = "", *, is_secret: bool = False) -> None:
        super().__init__(accepted)
        self.accepted = accepted
        self._part = part
        self._is_secret = is_secret

    def shown(self, given: object) -> str:
        return "…" if self._is_secret else repr(self._part or given)


def told(meaning: str, *, default: str = "") -> Any:
    """A field with its line in the reference; `default` where the value alone would not tell."""
    return Field(description=meaning, json_schema_extra={"shown": default})


def whole(least: int, most: int) -> BeforeValidator:
    def read(raw: str) -> int:
        if raw.isascii() and raw.isdecimal() and least <= int(raw) <= most:
            return int(raw)
        raise NotAccepted(f"a whole number from {least} to {most}")

    return _reading(read)


def one_of(*accepted: str) -> BeforeValidator:
    def read(raw: str) -> str:
        if raw in accepted:
            return raw
        raise NotAccepted(" or ".join(accepted))

    return _reading(read)


def in_address(host: str) -> str:
    """As it stands in front of a port."""
    return f"[{host}]" if ":" in host else host


def reachable(host: str) -> str:
    """Where somebody on this machine finds what listens there: on all addresses is no address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def machine_name_of(host: str) -> str:
    """The system's own name, made to fit."""
    return _NO_NAME.sub("-", host)[:LONGEST_NAME] or "localhost"


def _flag(raw: str) -> bool:
    if raw.lower() in (*_YES, *_NO):
        return raw.lower() in _YES
    raise NotAccepted("1, true, yes, on, 0, false, no or off")


def _names(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def _names_like(name: re.Pattern[str], accepted: str) -> BeforeValidator:
    def read(raw: str) -> tuple[str, ...]:
        for each in _names(raw):
            if not name.fullmatch(each):
                raise NotAccepted(accepted, each)
        return _names(raw)

    return _reading(read)


def _host(raw: str) -> str:
    """Where somebody can listen: an IPv6 address stands without brackets."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(raw)
        return raw
    if _HOST.fullmatch(raw):
        return raw
    raise NotAccepted("an address or a host name such as 127.0.0.1, ::1 or faber.internal")


def _words(raw: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise NotAccepted("a command line as a shell would split it") from error


def _networks(raw: str) -> tuple[Network, ...]:
    found = []
    for part in _names(raw):
        try:
            found.append(ipaddress.ip_network(part))
        except ValueError as error:
            accepted = "addresses or networks such as 127.0.0.1,10.1.0.0/16"
            raise NotAccepted(accepted, part) from error
    return tuple(found)


def _allowed(raw: str) -> addresses.Allowed:
    try:
        return addresses.read_allowed(raw)
    except ValueError as error:
        accepted = "hosts, addresses or networks such as ci.internal,10.1.0.0/16"
        raise NotAccepted(accepted) from error


def _machine_name(raw: str) -> str:
    """What may stand before a colon."""
    if _NO_NAME.search(raw) or len(raw) > LONGEST_NAME:
        raise NotAccepted(f"at most {LONGEST_NAME} letters, digits, dots, dashes, _")
    return raw


def _key(raw: str) -> str:
    """A key that cannot be guessed."""
    if len(raw) >= 32 and len(set(raw)) >= 10:
        return raw
    raise NotAccepted(
        "at least 32 random characters, such as"
        ' `python3 -c "import secrets; print(secrets.token_urlsafe(50))"` prints',
        is_secret=True,
    )


def _site_address(raw: str) -> str:
    given = raw.rstrip("/")
    with contextlib.suppress(ValueError):
        parts = urlsplit(given)
        if parts.scheme in ("http", "https") and parts.hostname and not parts.path:
            return given
    raise NotAccepted("an address like https://faber.example.org, without a path", given)


def address_like(example: str) -> BeforeValidator:
    def read(raw: str) -> str:
        given = raw.rstrip("/")
        with contextlib.suppress(ValueError):
            parts = urlsplit(given)
            port_is_a_number = parts.port is None or parts.port > 0
            plain = not (parts.username or parts.password or parts.query or parts.fragment)
            if parts.scheme in ("http", "https") and parts.hostname and port_is_a_number and plain:
                return given
        # Without what stands before an @: it may be a password.
        raise NotAccepted(f"an address like {example}", given.rpartition("@")[2])

    return _reading(read)


def _token(raw: str) -> str:
    if raw.isascii() and raw.isprintable() and " " not in raw:
        return raw
    raise NotAccepted("a token as GitHub shows it, on one line", is_secret=True)


def _private_key(raw: str) -> str:
    """The key itself, also when a file was named."""
    # A line of an env file holds the line ends of a key as two characters.
    pem = raw.replace("\\n", "\n")
    if not pem.startswith("-----BEGIN"):
        with contextlib.suppress(OSError, ValueError):
            pem = Path(raw).expanduser().read_text().strip()
    if pem.startswith("-----BEGIN") and "PRIVATE KEY-----" in pem:
        return pem
    raise NotAccepted(
        "the private key of the GitHub App (-----BEGIN … PRIVATE KEY-----)"
        " or the path of a file that holds it",
        is_secret=True,
    )


def _notify_urls(raw: str) -> tuple[str, ...]:
    """Apprise URLs, separated by commas."""
    try:
        return notify_urls.read(raw)
    except Invalid as error:
        said = "; ".join(problem.message for problem in error.problems)
        accepted = f"Apprise URLs separated by commas ({said})"
        raise NotAccepted(accepted, is_secret=True) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool


_BROKERS = ("redis", "rediss", "amqp", "amqps")
_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465, "smtp+ssl": 465}


def mail_server(address: str) -> MailServer | None:
    """What an accepted address says; nothing when there is none."""
    if not address:
        return None
    parts = urlsplit(address)
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or _MAIL_PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme in ("smtps", "smtp+ssl"),
    )


def _mail_address(raw: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(raw)
        if parts.scheme in _MAIL_PORTS and parts.hostname and parts.port != 0:
            return raw
    accepted = "smtp://USER:PASSWORD@HOST:PORT, or smtp+tls://, or smtps://"
    raise NotAccepted(accepted, is_secret=True)


def _issuer(raw: str) -> str:
    """To the letter: tokens name it so."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(raw)
        is_private = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if parts.hostname and (parts.scheme == "https" or is_private):
            return raw
    raise NotAccepted("an https address such as https://login.example.org", raw)


def _headers(raw: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.partition("=") for part in _names(raw)]
    found = tuple((name.strip(), value.strip()) for name, _, value in pairs)
    if all(_HEADER.fullmatch(name) and value for name, value in found):
        return found
    raise NotAccepted("NAME=VALUE,NAME=VALUE", is_secret=True)


def _dsn(raw: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(raw)
        if parts.scheme in ("http", "https") and parts.username and parts.path.strip("/"):
            return raw
    raise NotAccepted("a DSN like https://KEY@sentry.example.org/1", is_secret=True)


def _group_roles(raw: str) -> tuple[tuple[str, Role], ...]:
    found = []
    for part in _names(raw):
        group, _, role = part.rpartition("=")
        if not group.strip() or role.strip() not in list(Role):
            roles = ", ".join(Role)
            raise NotAccepted(f"GROUP=ROLE,GROUP=ROLE with the roles {roles}", part)
        found.append((group.strip(), Role(role.strip())))
    return tuple(found)


def _broker_address(raw: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(raw)
        number = parts.path.strip("/")
        is_redis = parts.scheme.startswith("redis")
        is_whole = (
            parts.hostname and parts.port != 0 and not (is_redis and number.strip("0123456789"))
        )
        if parts.scheme in _BROKERS and is_whole:
            return _verifying(raw) if parts.scheme == "rediss" else raw
    accepted = "redis://HOST:PORT/NUMBER or amqp://USER:PASSWORD@HOST:PORT/VHOST"
    raise NotAccepted(accepted, is_secret=True)


def _verifying(address: str) -> str:
    """Redis would take any certificate unless somebody says how strict to be."""
    query = urlsplit(address).query
    if "ssl_cert_reqs=" in query:
        return address
    return f"{address}{'&' if query else '?'}ssl_cert_reqs=required"


def _reading(read: Callable[[str], Any]) -> BeforeValidator:
    """Reads what was given; a default is already what it should be."""
    return BeforeValidator(lambda given: read(given) if isinstance(given, str) else given)


Flag = Annotated[bool, _reading(_flag)]
Host = Annotated[str, _reading(_host)]
HostNames = Annotated[
    tuple[str, ...],
    NoDecode,
    _names_like(_ALLOWED_HOST, "host names such as faber.example.org,.example.org,[::1], or *"),
]
Modules = Annotated[
    tuple[str, ...], NoDecode, _names_like(_MODULE, "module names such as acme.steps,tools")
]
Logins = Annotated[tuple[str, ...], NoDecode, _names_like(_LOGIN, "logins such as rita,olga-k")]
Labels = Annotated[
    tuple[str, ...],
    NoDecode,
    _names_like(LABEL, "labels such as gpu,linux: a-z, 0-9, dots, dashes, _"),
]
Words = Annotated[tuple[str, ...], NoDecode, _reading(_words)]
Networks = Annotated[tuple[Network, ...], NoDecode, _reading(_networks)]
AllowedAddresses = Annotated[addresses.Allowed, NoDecode, _reading(_allowed)]
MachineName = Annotated[str, _reading(_machine_name)]
Key = Annotated[str, _reading(_key)]
SiteAddress = Annotated[str, _reading(_site_address)]
Issuer = Annotated[str, _reading(_issuer)]
ServiceAddress = Annotated[str, address_like("http://127.0.0.1:4318")]
Headers = Annotated[tuple[tuple[str, str], ...], NoDecode, _reading(_headers)]
Dsn = Annotated[str, _reading(_dsn)]
GroupRoles = Annotated[tuple[tuple[str, Role], ...], NoDecode, _reading(_group_roles)]
ApiAddress = Annotated[str, address_like("https://github.example.org/api/v3")]
NotifyUrls = Annotated[tuple[str, ...], NoDecode, _reading(_notify_urls)]
BrokerAddress = Annotated[str, _reading(_broker_address)]
MailAddress = Annotated[str, _reading(_mail_address)]
Token = Annotated[str, _reading(_token)]
PrivateKey = Annotated[str, _reading(_private_key)]
