"""What the machine and its git repository say: who is here, and on which code base."""

import os
import pwd
import socket
import subprocess
from pathlib import Path

from django.contrib.auth import get_user_model

from runs.domain.actors import Actor, Role, Source
from runs.domain.ids import project_of_remote

_SECONDS = 5


def git(workspace: Path, *words: str) -> str:
    """One line from git, or nothing when there is no git, no repository or no answer."""
    try:
        done = subprocess.run(
            ["git", "-C", str(workspace), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cli_actor() -> Actor:
    """Whoever sits at this terminal: the git name is a label, the account is the identity."""
    account = _account()
    name = git(Path.cwd(), "config", "user.name")
    user = get_user_model().objects.filter(username=account).first()
    return Actor(
        name=name or account,
        email=git(Path.cwd(), "config", "user.email") if name else "",
        source=Source.CLI,
        method="git_config" if name else "environment",
        account=account,
        user_id=user.pk if user else None,
        # Whoever can read the database from a shell operates the site.
        groups=frozenset({Role.OPERATOR.value, *_groups(user)}),
    )


def _groups(user: object) -> list[str]:
    return list(user.groups.values_list("name", flat=True)) if user else []  # type: ignore[attr-defined]


def _account() -> str:
    # Not $USER, which anybody can set.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


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
