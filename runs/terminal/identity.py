"""Who sits at this terminal."""

import os
import pwd
from dataclasses import replace
from pathlib import Path

from django.contrib.auth import get_user_model

from runs.accounts import stand_ins, users
from runs.domain.values.actors import Actor, Role, Source
from runs.models import Run
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
        username=user.get_username() if user else "",
        user_id=user.pk if user else None,
        # Whoever can read the database from a shell operates the site.
        groups=frozenset({Role.OPERATOR.value}) | (users.groups_of(user) if user else frozenset()),
        sees_all=True,
        stands_in_for=stand_ins.absent_for(user.pk if user else None),
    )


def agent_actor(run_id: str = "", *, source: Source) -> Actor:
    """The agent of whoever this process belongs to; it needs no token to reach its own files.

    The agent of a step sees the project of its run, and no other.
    """
    # Not the account's own name: who may answer what the agent asks is that very person.
    name = f"{_account()}-agent"
    actor = Actor(name=name, source=source, method="environment", is_agent=True, sees_all=True)
    if not run_id:
        return actor
    only = Run.objects.filter(run_id=run_id).values_list("project_id", flat=True)
    return replace(actor, sees_all=False, token=name, projects=frozenset(only))


def _account() -> str:
    # Not $USER, which anybody can set.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
