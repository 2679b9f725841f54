"""Reads the settings of the GitHub channel; a refusal never repeats what may be a secret."""

import contextlib
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from faber_site import env


def token() -> str:
    given = env.text("FABER_GITHUB_TOKEN")
    if given.isascii() and given.isprintable() and " " not in given:
        return given
    raise ImproperlyConfigured(
        "FABER_GITHUB_TOKEN=… is not accepted; use a token as GitHub shows it, on one line."
    )


def app_key() -> str:
    """The private key itself; the refusal never repeats what may be one."""
    given = env.text("FABER_GITHUB_APP_KEY")
    # A line of an env file holds the line ends of a key as two characters.
    pem = given.replace("\\n", "\n")
    if pem and not pem.startswith("-----BEGIN"):
        with contextlib.suppress(OSError, ValueError):
            pem = Path(given).expanduser().read_text().strip()
    if not pem or (pem.startswith("-----BEGIN") and "PRIVATE KEY-----" in pem):
        return pem
    raise ImproperlyConfigured(
        "FABER_GITHUB_APP_KEY=… is not accepted; use the private key of the GitHub App"
        " (-----BEGIN … PRIVATE KEY-----) or the path of a file that holds it."
    )


def api_url() -> str:
    given = env.text("FABER_GITHUB_API_URL", "https://api.github.com").rstrip("/")
    with contextlib.suppress(ValueError):
        parts = urlsplit(given)
        port_is_a_number = parts.port is None or parts.port > 0
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
        if parts.scheme in ("http", "https") and parts.hostname and port_is_a_number and plain:
            return given
    # Without what stands before an @: it may be a password.
    shown = given.rpartition("@")[2]
    raise ImproperlyConfigured(
        f"FABER_GITHUB_API_URL={shown!r} is not accepted;"
        " use an address like https://github.example.org/api/v3."
    )
