"""What git says of a run's branch; nothing that is set up in the repository runs for it."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runs.context.gathering import Json, SourceRead, found, note, nothing

T = TypeVar("T")

SECONDS = 2.0
_GIT_SECONDS = 1.75  # less, so that what was read by then is told
COMMITS = 10
MOST_DIRTY = 200
MOST_FILES = 100  # of the difference

_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
}
# A repository's own settings may name programs: none of them is to run because of a look.
_HARMLESS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.quotePath", "false"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
)
_FILTER = re.compile(r"(filter\..+)\.(?:clean|smudge|process|required)", re.DOTALL)
# What git itself accepts as the name of a branch.
_BAD_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[-/.]|[/.]$|\.lock(?:/|$)")


def look(workspace: Path, name: str, base: str) -> SourceRead:
    """The branch beside its base; `base` may be empty, then it is what the repository says."""
    for given in filter(None, (name, base)):
        if _BAD_NAME.search(given):
            return nothing("branch", "missing", "warning", f"{given!r} is not a valid branch name.")
    git = _Git(workspace)
    try:
        return _look(git, name, base)
    except _NoAnswer as error:
        return nothing("branch", error.status, "warning", str(error))


def _look(git: "_Git", name: str, base: str) -> SourceRead:
    refs = _refs(git, name, base)
    tip = _first(refs, f"refs/heads/{name}", f"refs/remotes/origin/{name}", f"refs/remotes/{name}")
    against = _base(refs, base)
    notes = list(_notes(refs, name, base, tip, against))
    logged = _commits(git, tip.sha) if tip else ""
    difference = _told(lambda: _difference(git, against, tip), notes)
    dirty = _told(lambda: _dirty(git), notes) or []
    value: Json = {
        "name": name,
        "exists": tip is not None,
        "base": against.short if against else None,
        "commits": [_commit(line) for line in logged.split("\0") if line],
        "diff_stat": difference,
        "dirty": dirty[:MOST_DIRTY],
    }
    left_out = []
    if more := dirty[MOST_DIRTY:]:
        what = f"{len(more)} changed files"
        told = {"source": "branch", "what": what, "bytes": len("\n".join(more).encode())}
        left_out.append({**told, "why": f"only the first {MOST_DIRTY} are listed"})
    raw = "\0".join((tip.sha if tip else "", logged, difference or "", *dirty)).encode()
    return found(
        value,
        raw,
        status="ok" if tip else "missing",
        notes=tuple(notes),
        left_out=tuple(left_out),
    )


@dataclass(frozen=True, slots=True)
class _Ref:
    name: str
    sha: str
    target: str  # what a symbolic one stands for
    is_checked_out: bool

    @property
    def short(self) -> str:
        return self.name.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def _refs(git: "_Git", name: str, base: str) -> dict[str, _Ref]:
    names = dict.fromkeys((name, base or "main", "master", "HEAD"))
    wanted = [f"refs/{kind}/{each}" for each in names for kind in ("heads", "remotes/origin")]
    wanted.append(f"refs/remotes/{name}")
    form = "--format=%(refname)%00%(objectname)%00%(symref)%00%(HEAD)"
    lines = git("for-each-ref", form, *wanted).splitlines()
    found_refs = (_Ref(a, b, c, d == "*") for a, b, c, d in (line.split("\0") for line in lines))
    return {ref.name: ref for ref in found_refs}


def _base(refs: Mapping[str, _Ref], base: str) -> _Ref | None:
    if base:
        return _first(refs, f"refs/heads/{base}", f"refs/remotes/origin/{base}")
    main = refs.get("refs/remotes/origin/HEAD")
    if main and main.target:
        return _Ref(main.target, main.sha, "", False)
    return _first(
        refs,
        *(
            f"refs/{kind}/{each}"
            for each in ("main", "master")
            for kind in ("heads", "remotes/origin")
        ),
    )


def _first(refs: Mapping[str, _Ref], *names: str) -> _Ref | None:
    return next((refs[name] for name in names if name in refs), None)


def _notes(
    refs: Mapping[str, _Ref], name: str, base: str, tip: _Ref | None, against: _Ref | None
) -> Sequence[Json]:
    if tip is None:
        return [note("branch", "warning", f"There is no branch {name}.")]
    said = []
    if against is None:
        what = f"There is no branch {base} to compare with."
        said.append(note("branch", "warning", what if base else "There is no main branch."))
    if not any(ref.is_checked_out for ref in refs.values() if ref.name == tip.name):
        said.append(note("branch", "info", f"{name} is not checked out in the workspace."))
    return said


def _told(look: Callable[[], T], notes: list[Json]) -> T | None:
    """A part that cannot be had is a note; the rest is told."""
    try:
        return look()
    except _NoAnswer as error:
        notes.append(note("branch", "warning", str(error)))
        return None


def _commits(git: "_Git", sha: str) -> str:
    form = "--format=%H%x1f%aI%x1f%an%x1f%s"
    return git("log", "-z", f"-{COMMITS}", "--no-show-signature", "--no-color", form, sha, "--")


def _commit(line: str) -> Json:
    sha, date, author, subject = line.split("\x1f", 3)
    return {"sha": sha, "subject": subject, "author": author, "date": date}


def _difference(git: "_Git", against: _Ref | None, tip: _Ref | None) -> str | None:
    if against is None or tip is None:
        return None
    harmless = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
    shape = ("--stat=120", f"--stat-count={MOST_FILES}")
    return git("diff", *harmless, *shape, f"{against.sha}...{tip.sha}", "--").rstrip()


def _dirty(git: "_Git") -> list[str]:
    """Changed files as `M path`; a file that git does not know is `?? path`."""
    named = map(_FILTER.fullmatch, git.own_settings(r"^filter\."))
    filters = [match[1] for match in named if match]
    off = [
        (f"{name}.{key}", value)
        for name in dict.fromkeys(filters)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    ]
    lines = git(
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        settings=off,
    ).split("\0")
    return [f"{line[:2].strip()} {line[3:]}" for line in lines if line]


class _NoAnswer(Exception):
    """A sentence for the note."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


class _Git:
    """git in one folder, with one time limit for all it is asked."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._until = time.monotonic() + _GIT_SECONDS

    def __call__(self, *words: str, settings: Sequence[tuple[str, str]] = ()) -> str:
        try:
            done = subprocess.run(
                ["git", "--no-pager", "-C", str(self._workspace), *words],
                env=_environment(settings),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=max(0.01, self._until - time.monotonic()),
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            late = f"git {words[0]} did not end within {_GIT_SECONDS:g} seconds."
            raise _NoAnswer(late, "timeout") from None
        except (OSError, ValueError) as error:
            raise _NoAnswer(f"Could not run git: {error}.", "error") from None
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            said = f"git {words[0]} failed: {why[:300]}".rstrip(".")
            raise _NoAnswer(f"{said}.", "missing" if "not a git repository" in why else "error")
        return done.stdout.decode(errors="replace")

    def own_settings(self, pattern: str) -> list[str]:
        """Names of settings that the repository itself brings."""
        try:
            told = self("config", "-z", "--show-scope", "--name-only", "--get-regexp", pattern)
        except _NoAnswer:  # also when there is none
            return []
        words = told.split("\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        return [name for scope, name in pairs if scope in ("local", "worktree")]


def _environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    every = (*_HARMLESS, *settings)
    given = {"GIT_CONFIG_COUNT": str(len(every))}
    for number, (key, value) in enumerate(every):
        given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | _ENVIRONMENT | given
