"""Notes what somebody tried and may not do; called where a refusal leaves the site."""

from django.core.cache import cache

from runs.chain import entries, keys
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError, NotAllowed, OnHold, Stale
from runs.models import AuditEntry, AuditKind, Run

# The same again within this time is one attempt: nobody fills the record by trying.
_ONCE_IN = 60

TELLING = (NotAllowed, OnHold, Stale)


def note(
    error: FaberError, *, actor: Actor, what: str, run_id: str = "", request_id: str = ""
) -> None:
    """Put a refusal on record, outside the transaction that it ended."""
    if not isinstance(error, TELLING):
        return
    reason = str(error)
    attempt = f"refused:{actor.identity}:{what}:{run_id}:{request_id}:{reason}"
    if not cache.add(keys.digest(attempt), True, _ONCE_IN):
        return
    run_id, project = _known(run_id, request_id)
    entries.write(
        AuditKind.REFUSAL,
        actor=actor,
        what=what[:500],
        reason=reason[:2000],
        request_id=request_id[:40],
        run_id=run_id,
        project=project,
    )


def _known(run_id: str, request_id: str) -> tuple[str, str]:
    """The run that it was about, as far as there is one."""
    if request_id:
        asked = AuditEntry.objects.filter(kind=AuditKind.QUESTION, request_id=request_id[:40])
        return asked.values_list("run_id", "project").first() or ("", "")
    run = Run.objects.filter(run_id=run_id).select_related("project").first() if run_id else None
    return (run.run_id, run.project.name) if run else ("", "")
