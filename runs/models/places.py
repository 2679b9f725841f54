"""Folders and files as rows keep them: what lies in the data directory, by its place in it.

So a data directory that is copied or moved as a whole finds everything inside it again.
"""

from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

from runs.domain.values.ids import sanitise


def stored(place: Path) -> str:
    """How a row keeps a full path."""
    ours = _data()
    return str(place.relative_to(ours) if place.is_relative_to(ours) else place)


def found(kept: str) -> Path:
    """The full path of what a row keeps."""
    return _joined(_data(), kept)


def own_place(project: str) -> Path:
    """Where a project works that has no folder on this machine."""
    org, _, name = project.partition("/")
    return found(f"workspaces/{sanitise(org)}/{sanitise(name)}")


def _data() -> Path:
    return _resolved(settings.FABER_DATA_DIR)


@lru_cache(maxsize=200)
def _joined(data: Path, kept: str) -> Path:
    return data / kept


@cache
def _resolved(folder: Path) -> Path:
    return folder.resolve()
