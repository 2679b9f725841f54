"""git beside a repository: its objects and files are used, its own programs are never run.

Hooks, filters, drivers and watchers are named by settings of the repository, which a step may
have written. So git gets a directory of our own with settings of our own: those of the
repository are not read at all, and neither its index nor its HEAD nor its files are touched.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runs.domain.values.numbers import seconds_of
from runs.isolation import file_modes
from runs.workspaces.files import open_ordinary
from runs.workspaces.git import ask_git

_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "core.bigFileThreshold": "64m",
    "gc.auto": "0",
}
# How files are read into the repository; none of these names a program.
_TAKEN_OVER = "autocrlf|eol|ignorecase|filemode|symlinks|precomposeunicode|excludesfile"
_BESIDE = ("info/exclude", "info/attributes")


class GitFailed(Exception):
    """git did not do what it was asked; a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with a work tree, and what must be known of it to work beside it."""

    top: Path
    directory: Path  # of this work tree: its HEAD and its index
    common: Path  # of all its work trees: objects and branches
    object_format: str
    settings: Mapping[str, str]


def find(folder: Path) -> Repository | None:
    """The repository a folder belongs to; None when it belongs to none."""
    words = ("--show-toplevel", "--git-dir", "--git-common-dir", "--show-object-format")
    told = ask_git(folder, "rev-parse", "--path-format=absolute", *words)
    lines = told.text.splitlines()
    if not told.ok or len(lines) != len(words):
        return None
    top, directory, common, object_format = lines
    return Repository(
        top=Path(top),
        directory=Path(directory),
        common=Path(common),
        object_format=object_format,
        settings=_taken_over(folder),
    )


def _taken_over(folder: Path) -> dict[str, str]:
    told = ask_git(folder, "config", "-z", "--get-regexp", rf"^core\.({_TAKEN_OVER})$")
    pairs = (each.partition("\n") for each in told.text.split("\0") if told.ok and "\n" in each)
    return {name: value for name, _, value in pairs}


class Aside:
    """git with a directory and an index of its own, and one time limit for all it is asked."""

    def __init__(self, repository: Repository, own: Path, seconds: float) -> None:
        self.repository = repository
        self._seconds, self._until = seconds, time.monotonic() + seconds
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._environment = {
            **kept,
            **_ENVIRONMENT,
            **_as_variables({**repository.settings, **_SETTINGS}),
            "GIT_DIR": str(own),
            "GIT_WORK_TREE": str(repository.top),
            "GIT_INDEX_FILE": str(own / "index"),
            "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
        }

    def __call__(
        self, *words: str, given: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> bytes:
        try:
            done = subprocess.run(
                ["git", "--no-pager", *words],
                cwd=self.repository.top,
                input=given,
                capture_output=True,
                timeout=max(0.01, self._until - time.monotonic()),
                check=False,
                env={**self._environment, **(environment or {})},
                umask=file_modes.usual_umask(),
            )
        except subprocess.TimeoutExpired:
            raise GitFailed(f"git did not respond within {seconds_of(self._seconds)}") from None
        except OSError as error:
            raise GitFailed(f"could not start git: {error.strerror or error}") from None
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise GitFailed(f"git {words[0]} failed: {why[:300]}".rstrip("."))
        return done.stdout

    def text(self, *words: str) -> str:
        return self(*words).decode(errors="replace").strip()


@contextmanager
def beside(repository: Repository, *, seconds: float) -> Iterator[Aside]:
    """git that begins with a copy of the repository's index."""
    with tempfile.TemporaryDirectory(prefix="faber-git-") as folder:
        own = Path(folder)
        for name in ("refs", "objects", "info"):
            (own / name).mkdir()
        (own / "HEAD").write_text("ref: refs/heads/unborn\n")
        (own / "config").write_text(_config(repository))
        for name in _BESIDE:
            with suppress(OSError):  # somebody may have a link there
                _copy(repository.common / name, own / name)
        try:
            _copy(repository.directory / "index", own / "index")
            for part in repository.directory.glob("sharedindex.*"):
                _copy(part, own / part.name)
        except OSError as error:
            raise GitFailed(f"could not read the index: {error.strerror or error}") from None
        yield Aside(repository, own, seconds)


def _config(repository: Repository) -> str:
    version = 0 if repository.object_format == "sha1" else 1
    lines = ["[core]", f"repositoryformatversion = {version}", "bare = false"]
    if version:
        lines += ["[extensions]", f"objectFormat = {repository.object_format}"]
    return "\n".join(lines) + "\n"


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    given = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        given |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return given


def _copy(source: Path, target: Path) -> None:
    """What is there, as far as it is an ordinary file; a step may have put anything there."""
    with suppress(FileNotFoundError), open_ordinary(source) as opened:
        target.write_bytes(opened.read())
        # By its time git knows which files may have changed in the moment after they were added.
        found = os.fstat(opened.fileno())
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
