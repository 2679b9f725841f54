"""Asks git, without its hooks or the site's secrets; what a repository says of itself."""

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runs.domain.values.ids import project_of_remote

_SECONDS = 5
# What a git hook that calls us has set: it would lead git to another repository than the folder's.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git printed: its answer, or its complaint."""

    ok: bool
    text: str


def git(workspace: Path, *words: str) -> str:
    """What git answers, or nothing when there is no git, no repository or no answer."""
    answer = ask_git(workspace, *words)
    return answer.text if answer.ok else ""


def ask_git(workspace: Path, *words: str, seconds: float = _SECONDS) -> GitAnswer:
    # Its filters and hooks get none of the site's secrets, and its words are not translated.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _ELSEWHERE and not name.startswith("FABER_")
    }
    try:
        done = subprocess.run(
            ["git", "-C", str(workspace), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env={**environment, "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError:
        return GitAnswer(False, "git is not installed")
    except subprocess.TimeoutExpired:
        return GitAnswer(False, f"git did not answer within {seconds:g} seconds")
    except OSError as error:
        return GitAnswer(False, str(error))
    if done.returncode == 0:
        return GitAnswer(True, done.stdout.strip())
    return GitAnswer(False, done.stderr.strip() or f"git ended with {done.returncode}")


def project_name(workspace: Path) -> str:
    """ORG/NAME of the repository, else `local` and the folder's name."""
    remote = git(workspace, "config", "--get", "remote.origin.url")
    if found := project_of_remote(remote):
        return found
    top = git(workspace, "rev-parse", "--show-toplevel")
    return f"local/{Path(top or workspace).name or 'workspace'}"


def environment(workspace: Path) -> dict[str, object]:
    return {
        "hostname": socket.gethostname(),
        "git_branch": git(workspace, "rev-parse", "--abbrev-ref", "HEAD") or "unknown",
        "git_commit": git(workspace, "rev-parse", "HEAD") or "unknown",
        "working_directory": str(workspace),
    }
