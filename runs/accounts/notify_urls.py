"""Addresses that notices go to, each a secret: read, kept sealed, and named without being shown."""

import base64
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from django.utils.crypto import salted_hmac

from runs.domain.values.errors import Invalid, Problem

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

MOST = 20
LONGEST = 2000
_SALT = "faber.notify-urls"
# A comma or a blank parts two addresses only where the next one begins: some hold commas.
_NEXT = re.compile(r"[\s,]+(?=[a-z][a-z0-9+.-]*://)", re.IGNORECASE)
_SHAPE = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_SHOWN = re.compile(r"([a-z][a-z0-9+.-]*)://…([0-9a-f]{4})", re.IGNORECASE)

# What speaks to the machine that FABER runs on, and not to a service.
_MACHINE = frozenset(
    {
        *("file", "exec", "python", "syslog", "rsyslog", "dbus", "kde", "qt", "glib", "gio"),
        *("gnome", "macosx", "windows", "blink1"),
    }
)
# Parameters that name a file of the machine.
_FILES = frozenset(
    {"attach", "attachment", "cert", "config", "key", "keyfile", "pgpkey", "subfile", "template"}
)
_SERVICES = {
    "discord": "Discord",
    "form": "webhook",
    "gotify": "Gotify",
    "json": "webhook",
    "mailto": "e-mail",
    "matrix": "Matrix",
    "mmost": "Mattermost",
    "msteams": "Teams",
    "pover": "Pushover",
    "slack": "Slack",
    "tgram": "Telegram",
    "workflow": "Teams",
    "xml": "webhook",
    "zulip": "Zulip",
}
_NATIVE = {"hooks.slack.com": "slack", "discord.com": "discord", "discordapp.com": "discord"}


def read(text: str, place: str = "notify") -> tuple[str, ...]:
    """The addresses in a text; what is wrong is said without repeating them."""
    urls = tuple(dict.fromkeys(part for part in _NEXT.split(text.strip(" \t\r\n,")) if part))
    if len(urls) > MOST:
        raise Invalid([Problem(place, f"takes at most {MOST} addresses")])
    problems = [
        Problem(place, f"address {number} {wrong}")
        for number, url in enumerate(urls, start=1)
        if (wrong := problem_with(url))
    ]
    if problems:
        raise Invalid(problems)
    return urls


def problem_with(url: str) -> str:
    """Why an address is not taken, without the address; nothing when it may be."""
    if not _SHAPE.fullmatch(url) or len(url) > LONGEST:
        return "is not an Apprise URL such as slack://… or ntfys://…"
    if scheme_of(url) in _MACHINE:
        return f"begins with {scheme_of(url)}://, which speaks to this machine"
    named = {name.casefold() for name, _ in parse_qsl(_query_of(url), keep_blank_values=True)}
    if files := sorted(named & _FILES):
        return f"names a file of this machine with {files[0]}="
    return ""


def understood(url: str) -> str:
    """Why Apprise cannot use an address; nothing when it can. Loading its services takes long."""
    try:
        import apprise  # noqa: PLC0415  a second and 24 MB, for whoever needs it
    except ImportError:
        return "needs Apprise, which is not installed: install faber-review[notify]"
    if apprise.Apprise.instantiate(url) is None:
        return f"is not complete: Apprise does not understand it as {service_of(url)}"
    return ""


def check(urls: Sequence[str], place: str = "notify") -> None:
    """Refuse what Apprise would not take, when it is set and not when it is needed."""
    problems = [
        Problem(place, f"address {number} {wrong}")
        for number, url in enumerate(urls, start=1)
        if (wrong := understood(url))
    ]
    if problems:
        raise Invalid(problems)


def changed(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """The addresses in a text, in which those known before may stand as they are shown."""
    urls = read(with_known(text, known))
    check([url for url in urls if url not in known])
    return urls


def scheme_of(url: str) -> str:
    """`slack`, also of the address that Slack itself gives out."""
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?:@]", rest, maxsplit=1)[0].casefold()
    return _NATIVE.get(host, scheme.casefold()) if scheme.casefold() == "https" else scheme.lower()


def service_of(url: str) -> str:
    """What people call it."""
    scheme = scheme_of(url)
    plain = scheme if scheme in _SERVICES else scheme.removesuffix("s")
    return _SERVICES.get(plain, plain)


def fingerprint(url: str) -> str:
    """The same for the same address, and no way back to it."""
    return salted_hmac(_SALT, url, algorithm="sha256").hexdigest()[:16]


def shown(url: str) -> str:
    """An address as it may be seen: which service, and enough to tell two apart."""
    return f"{scheme_of(url)}://…{fingerprint(url)[:4]}"


def with_known(text: str, known: Iterable[str]) -> str:
    """A text in which an address that was shown stands for itself again."""
    by_sight = {shown(url): url for url in known}
    return _SHOWN.sub(lambda found: by_sight.get(found[0], found[0]), text)


# Kept in the database, readable with the site's secret key alone


def seal(url: str) -> str:
    return _box().encrypt(url.encode()).decode()


def unseal(sealed: Iterable[str]) -> tuple[str, ...]:
    """The addresses; those that another secret key has sealed are lost."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415  the settings read us

    box, urls = _box(), []
    for token in sealed:
        try:
            urls.append(box.decrypt(token.encode()).decode())
        except InvalidToken:
            continue
    return tuple(urls)


def _box() -> "Fernet":
    from cryptography.fernet import Fernet  # noqa: PLC0415

    key = salted_hmac(_SALT, "sealed", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))


def _query_of(url: str) -> str:
    try:
        return urlsplit(url).query
    except ValueError:
        return url.partition("?")[2]
