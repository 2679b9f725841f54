"""Where the site is and what opens it: from the environment, else from the data directory.

The running site writes its address there; the token is made once, by `faber hook connect`.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from faber_site.configuration import data_place

ADDRESS = "site-address"
TOKEN = "hook-token"  # noqa: S105 (the name of a file)
# A command with Django in it takes seconds on a busy machine.
PATIENCE = 60


class NoSite(Exception):
    """There is no site to ask."""


class KnownSite(NamedTuple):  # a dataclass would take longer to load than all the rest
    url: str
    token: str


def find() -> KnownSite:
    url, token = (os.environ.get(name, "").strip() for name in ("FABER_URL", "FABER_TOKEN"))
    if url and token:
        return KnownSite(url=url, token=token)
    if url or token:
        raise NoSite("Set both FABER_URL and FABER_TOKEN, or neither for this machine's site.")
    return _of(data_place.place())


def is_local() -> bool:
    return not os.environ.get("FABER_URL", "").strip()


def connect() -> None:
    """Have a token made, once; what opens the database is only loaded for this."""
    import subprocess  # noqa: PLC0415

    done = subprocess.run(
        [sys.executable, "-P", "-m", "faber_site.commands", "hook", "connect"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise NoSite(done.stderr.decode(errors="replace").strip())


def keep(folder: Path, name: str, text: str) -> None:
    """Write a file that nobody else can read, whole or not at all."""
    new = folder / f".{name}.{os.getpid()}"
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{text}\n")
    new.replace(folder / name)


def address(folder: Path) -> str:
    """Where the site of this data directory listens, or did when it last ran; empty: unknown."""
    try:
        return (folder / ADDRESS).read_text().strip()
    except OSError:
        return ""


def _of(folder: Path) -> KnownSite:
    if not (folder / TOKEN).exists():
        connect()
    try:
        url, token = ((folder / name).read_text().strip() for name in (ADDRESS, TOKEN))
    except OSError as error:
        raise NoSite(f"No site is known in {folder} ({error.strerror}).") from error
    return KnownSite(url=url, token=token)
