"""Asks git, without its hooks or the site's secrets; what a repository says of itself."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.domain.values.ids import project_of_remote
from runs.domain.values.numbers import seconds_of
from runs.isolation import file_modes
from runs.models import machine

_SECONDS = 5
# What a git hook that calls us has set: it would lead git to another repository than the folder's.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
# A step may have written the repository's settings, and this process is outside its isolation.
_HARMLESS = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git printed: its answer, or its complaint."""

    ok: bool
    text: str


def git(workspace: Path, *words: str) -> str:
    """What git answers, or nothing when there is no git, no repository or no answer."""
    answer = ask_git(workspace, *words)
    return answer.text if answer.ok else ""


def ask_git(
    workspace: Path, *words: str, seconds: float = _SECONDS, shelter: Sequence[str] = ()
) -> GitAnswer:
    """Words that touch files may execute what the repository names: those need a shelter."""
    try:
        done = subprocess.run(
            [*shelter, "git", "-C", str(workspace), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env={**_environment(), **_HARMLESS, "LC_ALL": "C.UTF-8"},
            umask=file_modes.usual_umask(),
        )
    except FileNotFoundError:
        return GitAnswer(False, "git is not installed")
    except subprocess.TimeoutExpired:
        return GitAnswer(False, f"git did not respond within {seconds_of(seconds)}")
    except OSError as error:
        return GitAnswer(False, str(error))
    if done.returncode == 0:
        return GitAnswer(True, done.stdout.strip())
    return GitAnswer(False, done.stderr.strip() or f"git ended with {done.returncode}")


def _environment() -> dict[str, str]:
    """Ours without the site's secrets, of which filters and hooks would get hold."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _ELSEWHERE and not name.startswith("FABER_")
    }


def project_name(workspace: Path) -> str:
    """ORG/NAME of the repository, else `local` and the folder's name."""
    remote = git(workspace, "config", "--get", "remote.origin.url")
    if found := project_of_remote(remote):
        return found
    top = git(workspace, "rev-parse", "--show-toplevel")
    return f"local/{Path(top or workspace).name or 'workspace'}"


def environment(workspace: Path) -> dict[str, object]:
    return {
        "hostname": machine.name(),
        "git_branch": git(workspace, "rev-parse", "--abbrev-ref", "HEAD") or "unknown",
        "git_commit": git(workspace, "rev-parse", "HEAD") or "unknown",
        "working_directory": str(workspace),
    }
