"""Who sits at this terminal."""

import os
import pwd
from pathlib import Path

from django.contrib.auth import get_user_model

from runs.domain.values.actors import Actor, Role, Source
from runs.workspaces.git import git


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
