"""What a site hides from its steps, and the command line that makes it so."""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from runs.isolation import ways
from runs.isolation.ways import Unavailable, View

log = logging.getLogger(__name__)

Mode = Literal["auto", "require", "off"]
MODES: tuple[Mode, ...] = get_args(Mode)

REPAIR = (
    "Install bubblewrap, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces above 0) with util-linux's unshare; then restart FABER."
)
_BESIDE_SQLITE = ("", "-wal", "-shm", "-journal", "-turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How much a site wants its steps isolated, and from what."""

    mode: Mode = "off"
    data: Path | None = None
    database: Path | None = None  # a SQLite file, wherever it lies
    door: tuple[str, ...] = ()  # what is started for a step that knocks

    @property
    def hidden(self) -> tuple[Path, ...]:
        return (self.data,) if self.data else ()


def prefix(
    isolation: Isolation,
    *,
    folder: Path,
    kept: Iterable[Path] = (),
    reads_only: bool = False,
    door: Path | None = None,
) -> tuple[str, ...]:
    """What goes before a command; nothing where it goes without, Unavailable where it must not."""
    if isolation.mode == "off":
        return ()
    try:
        way = ways.working(isolation.hidden)
    except Unavailable as error:
        if isolation.mode == "require":
            raise
        _warn_once(str(error))
        return ()
    needed = (folder, *kept)
    view = _view(isolation, folder, needed, door)
    return way(replace(view, frozen=tuple(_frozen(needed))) if reads_only else view)


def _frozen(needed: Iterable[Path]) -> Iterator[Path]:
    """The folders that can be read only; an agent still writes to its home and to /tmp."""
    own = [place.resolve() for place in (_home(), Path(tempfile.gettempdir()))]
    for path in _outermost(folder.resolve() for folder in needed if folder.is_dir()):
        if not any(place == path or path in place.parents for place in own):
            yield path


def _view(isolation: Isolation, folder: Path, needed: Iterable[Path], door: Path | None) -> View:
    hidden = isolation.hidden
    # Also the account's own folders, which agents need, should they lie in the data directory.
    wanted = (*needed, _home(), Path(tempfile.gettempdir()))
    return View(
        hidden=hidden,
        blanked=tuple(_blanked(isolation)),
        kept=tuple(_outermost(_inside(hidden, wanted))),
        folder=folder,
        door=door,
    )


def _inside(hidden: tuple[Path, ...], wanted: Iterable[Path]) -> Iterator[Path]:
    for path in wanted:
        for spelt in {path, path.resolve()}:
            # A hidden folder itself is never shown, whoever wants to work in it.
            if spelt.exists() and any(above in spelt.parents for above in hidden):
                yield spelt


def _outermost(paths: Iterable[Path]) -> Iterator[Path]:
    known = set(paths)
    return (path for path in sorted(known) if not known.intersection(path.parents))


def _blanked(isolation: Isolation) -> Iterator[Path]:
    file = isolation.database
    if file is None or any(above in file.parents for above in isolation.hidden):
        return
    for ending in _BESIDE_SQLITE:
        if (beside := file.with_name(file.name + ending)).exists():
            yield beside


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # an account without one
        return Path("/")


@cache
def _warn_once(why: str) -> None:
    log.warning("Steps run without isolation (%s). %s", why, REPAIR)
