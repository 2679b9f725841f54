"""Finds projects and changes what is set for them."""

from collections.abc import Mapping

from django.db import transaction

from runs.accounts import membership, notify_urls
from runs.chain import entries
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotFound
from runs.engine import turns
from runs.models import Project

Json = dict[str, object]

# What can be set, in the order it is shown in.
KEYS = (
    *("workspace", "base_branch", "worktree", "exclusive", "agent", "context_tokens"),
    *("context_bytes", "reviewers", "visibility", "members", "tells_runs", "labels_issues"),
    *(
        "tracker",
        "repository",
        "github_allow",
        "start_workflow",
        "start_label",
        "due",
        "remind",
        "escalate_after",
        "escalate_to",
        "on_timeout",
    ),
    *("business_hours", "timezone", "notify", "assign", "needs"),
)
_SEALED = "notify"  # each of these addresses is a secret


def find(name: str, *, seen_by: Actor | None) -> Project:
    """Nobody in `seen_by` is the site itself, for which every project exists."""
    found = Project.objects.filter(name__iexact=name.strip()).first()
    if found is None or (seen_by and not membership.sees(seen_by, found)):
        raise NotFound(f"There is no project {name!r}.")
    return found


def change(project: Project, values: Mapping[str, object], *, actor: Actor) -> None:
    """Set what was checked before; runs that need not wait any more begin with it."""
    told = ", ".join(f"{key}={_open_to_all(key, value)}" for key, value in values.items())
    with transaction.atomic():
        entries.rule(actor, f"project {project.name}: {told}", project=project.name)
        kept = turns.locked(project.pk)
        for key, value in values.items():
            setattr(kept, key, value)
        kept.save(update_fields=list(values))
        turns.give(project.pk)


def shape(project: Project) -> Json:
    """The settings as programs read them."""
    values: Json = {key: getattr(project, key) for key in KEYS}
    values[_SEALED] = _open_to_all(_SEALED, project.notify)
    return {"name": project.name, **values, "workspace": str(project.folder or "") or None}


def _open_to_all(key: str, value: object) -> object:
    """A value as it may be read by anybody."""
    if key != _SEALED or not isinstance(value, list):
        return value
    return [notify_urls.shown(url) for url in notify_urls.unseal(value)]
