"""Writes lines into the record, in the transaction of what they tell."""

from datetime import datetime

from django.utils import timezone

from runs.chain import keys
from runs.domain.values.actors import Actor
from runs.models import AuditEntry, AuditKind, Run
from runs.models.statements import insert

FORM = 2  # 1: before questions had rounds and agents
_OF_A_RUN_AT_FIRST = (
    *("run_id", "work_id", "target", "workflow_id", "autonomy", "prompt", "inputs", "phases"),
    *("plan_hash", "started_by", "started_by_account", "created_at", "imported_at"),
)
_OF_A_RUN = {1: _OF_A_RUN_AT_FIRST, 2: (*_OF_A_RUN_AT_FIRST, "started_by_token")}
# What a line says; its number and its link come later.
SAID = (
    *("kind", "at", "who", "account", "channel", "what", "comment", "reason", "project", "run_id"),
    *("request_id", "marks", "subject", "digest", "event_number", "event_hash", "form", "key"),
)


def write(
    kind: AuditKind,
    *,
    actor: Actor | None = None,
    run: Run | None = None,
    at: datetime | None = None,
    **said: object,
) -> AuditEntry:
    """One more line; `said` are its other columns."""
    about = {**_by(actor), **_of(run), **said}
    entry = AuditEntry(kind=kind, at=at or timezone.now(), form=FORM, key=keys.key_name(), **about)
    entry.code = code_of(entry)
    insert(entry)
    return entry


def _by(actor: Actor | None) -> dict[str, object]:
    if actor is None:
        return {}
    return {
        "who": actor.name[:200],
        "account": (actor.username or actor.account)[:200],
        "channel": actor.source.value,
    }


def _of(run: Run | None) -> dict[str, object]:
    if run is None:
        return {}
    return {
        "project": run.project.name,
        "run_id": run.run_id,
        "event_number": run.last_event_id,
        "event_hash": run.last_event_hash,
    }


def code_of(entry: AuditEntry) -> str:
    return keys.code(*(getattr(entry, name) for name in SAID))


def rule(actor: Actor, what: str, *, project: str = "") -> None:
    """Who may do what was changed: accounts, tokens, what is set for a project."""
    write(AuditKind.RULE, actor=actor, what=what[:2000], project=project)


def run_started(run: Run, actor: Actor | None, **said: object) -> None:
    what = f"started {run.workflow_id}"
    digest = run_digest(run, FORM)
    write(AuditKind.RUN, actor=actor, run=run, at=run.created_at, what=what, digest=digest, **said)


def run_ended(run: Run) -> None:
    """Its history is whole from here on: nothing can be cut off its end any more."""
    write(AuditKind.END, run=run, what=run.status)


def run_digest(run: Run, form: int) -> str:
    if run.mirrors:  # another FABER says what it is; that it is there is all that is known here
        return keys.digest(run.run_id)
    return keys.digest(*(getattr(run, name) for name in _OF_A_RUN[form]))
