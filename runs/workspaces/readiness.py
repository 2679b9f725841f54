"""What a repository needs before agents can work in it: how its tests run, what is missing."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.ids import project_of_remote
from runs.isolation import file_modes
from runs.workspaces.git import ask_git, git

_SECONDS = 20


def repository_of(folder: Path) -> Path:
    """The repository that a folder is in; raises when it is in none."""
    if not shutil.which("git"):
        raise Invalid([Problem("", "git is not installed. Install it, then try again")])
    top = ask_git(folder, "rev-parse", "--show-toplevel")
    if not top.ok:
        why = "is not in a git repository; create one with `git init`"
        raise Invalid([Problem(str(folder), why)])
    return Path(top.text)


def test_command(repository: Path, finder: Sequence[str], variable: str) -> str:
    """How the tests are run here, as the workflow's own step finds out; nothing if it cannot."""
    if not finder:
        return ""
    with tempfile.TemporaryDirectory() as notes:
        found = _run([*finder], repository, **{variable: notes})
    return found.stdout.strip().rpartition("\n")[2] if found and not found.returncode else ""


def missing(repository: Path) -> Iterator[str]:
    """What people have to see to before a run can open a pull request, a sentence each."""
    if not git(repository, "rev-parse", "--verify", "--quiet", "HEAD"):
        yield "The repository has no commit. Make one."
    if not (git(repository, "config", "user.name") and git(repository, "config", "user.email")):
        yield "git does not know who commits. Set user.name and user.email with `git config`."
    if not project_of_remote(git(repository, "config", "--get", "remote.origin.url")):
        yield "The repository has no remote named origin. Add it with `git remote add origin URL`."
    yield from _missing_gh(repository)


def _missing_gh(repository: Path) -> Iterator[str]:
    if not shutil.which("gh"):
        yield "`gh` is not installed. Install it to open pull requests: https://cli.github.com"
        return
    token = _run(["gh", "auth", "token"], repository)
    if token is None or token.returncode:
        yield "`gh` is not signed in. Run `gh auth login`."


def _run(
    words: Sequence[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            list(words),
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            umask=file_modes.usual_umask(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
