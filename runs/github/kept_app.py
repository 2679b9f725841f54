"""The GitHub App that the site had made for itself, kept in its data directory."""

import json
import os
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from django.conf import settings

NAME = "github-app.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptApp:
    api_url: str
    app_id: str
    slug: str
    url: str  # its page on GitHub
    key: str = field(repr=False)
    webhook_secret: str = field(default="", repr=False)

    @property
    def install_url(self) -> str:
        """Where people choose its repositories."""
        return f"{self.url}/installations/new"


def place() -> Path:
    folder: Path = settings.FABER_DATA_DIR
    return folder / NAME


def kept() -> KeptApp | None:
    """The App of the GitHub this site uses; the file is read again whenever it changed."""
    try:
        seen = place().stat()
    except OSError:
        return None
    app = _read(place(), seen.st_ino, seen.st_mtime_ns)
    return app if app.api_url == settings.FABER_GITHUB_API_URL else None


def keep(app: KeptApp) -> None:
    unpack(json.dumps(asdict(app)).encode())


def packed() -> bytes | None:
    """The file as it is, for a backup."""
    return place().read_bytes() if place().exists() else None


def unpack(content: bytes) -> None:
    beside = place().with_suffix(".new")
    opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(opened, "wb") as file:
        file.write(content)
    beside.replace(place())


@lru_cache(maxsize=1)
def _read(path: Path, _inode: int, _changed: int) -> KeptApp:
    return KeptApp(**json.loads(path.read_text(encoding="utf-8")))
