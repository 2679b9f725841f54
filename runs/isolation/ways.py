"""The two ways to isolate a command, and which of them works here."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PYTHON = (sys.executable, "-I", "-S")
_VEIL = (*_PYTHON, str(Path(__file__).with_name("enter.py")))
_SECONDS = 30  # for a look at whether a way works; a busy machine is no reason to do without


class Unavailable(Exception):
    """No way works here; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a command must not see, and what of it it may see all the same."""

    hidden: tuple[Path, ...]
    blanked: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    frozen: tuple[Path, ...] = ()  # can be read, and not written to
    folder: Path  # where it begins
    door: Path | None = None


Way = Callable[[View], tuple[str, ...]]


def bubblewrap(view: View) -> tuple[str, ...]:
    words = ["--dev-bind", "/", "/", "--proc", "/proc"]
    # Our own process comes first in there: it reaps what is left behind, and passes signals on.
    # Not --die-with-parent: the warden tidies up when the worker dies, and needs a moment for it.
    words += ["--unshare-pid", "--as-pid-1"]
    words += _each("--tmpfs", view.hidden)
    for path in view.kept:
        words += ["--dev-bind", str(path), str(path)]
    for path in view.frozen:
        words += ["--ro-bind", str(path), str(path)]
    for path in view.blanked:
        words += ["--ro-bind", os.devnull, str(path)]
    words += [*_each("--remount-ro", view.hidden), "--chdir", str(view.folder), "--"]
    # Root keeps its rights through bubblewrap, so the veil takes away those that could undo it.
    sealed = ("own", "all") if os.geteuid() == 0 else ()
    noted = (*_each("hidden", view.hidden), *_each("kept", view.kept))
    return _found("bwrap"), *words, *_VEIL, *noted, *sealed, *_door(view), "--"


def namespaces(view: View) -> tuple[str, ...]:
    words = ["--mount", "--propagation", "private", "--pid", "--fork"]
    words += ["--mount-proc", "--"]
    own = "all"
    if os.geteuid() != 0:
        words = ["--user", "--map-root-user", *words]
        own = f"{os.geteuid()}:{os.getegid()}"
    plan = (*_each("hide", view.hidden), *_each("keep", view.kept), *_each("blank", view.blanked))
    plan += tuple(_each("freeze", view.frozen))
    return (
        _found("unshare"),
        *words,
        *_VEIL,
        *plan,
        *("stand", str(view.folder), "own", own),
        *_door(view),
        "--",
    )


WAYS: tuple[Way, ...] = (bubblewrap, namespaces)


def working(hidden: tuple[Path, ...]) -> Way:
    """The first way that really hides these folders; raises Unavailable when there is none."""
    found = _looked(hidden)
    if isinstance(found, str):
        raise Unavailable(found)
    return found


def why_not(hidden: tuple[Path, ...]) -> str:
    """Why nothing can be isolated here; empty when it can."""
    found = _looked(hidden)
    return found if isinstance(found, str) else ""


@cache
def _looked(hidden: tuple[Path, ...]) -> Way | str:
    """Once in the life of a process: who installs bubblewrap starts the site again."""
    problems = []
    for way in WAYS:
        try:
            _try(way(View(hidden=hidden, folder=Path("/"))))
        except Unavailable as error:
            problems.append(str(error))
        else:
            return way
    return "; ".join(dict.fromkeys(problems))


def _try(prefix: Sequence[str]) -> None:
    name = Path(prefix[0]).name
    try:
        done = subprocess.run(
            [*prefix, "check"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{name}: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"ended with {done.returncode}"
        raise Unavailable(f"{name}: {said.splitlines()[-1].removeprefix(f'{name}: ')[:300]}")


@cache
def _found(program: str) -> str:
    if sys.platform != "linux":
        raise Unavailable("steps are isolated on Linux only")
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not installed")
    return found


def _each(word: str, paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        yield from (word, str(path))


def _door(view: View) -> tuple[str, ...]:
    return ("door", str(view.door)) if view.door else ()
