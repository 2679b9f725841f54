"""Makes batches for tests: runs that stop in every way there is."""

from typing import Any

from feedback.models import FeedbackRequest
from runs.domain.values.status import RunStatus
from runs.models import Batch, Project, Run
from tests import factories as f

PICKS: list[object] = [
    {"value": "blue", "action": "continue"},
    {"value": "dark green", "action": "continue"},
]

_ASKING: dict[str, f.Json] = {
    "approval": f.step("ask", requires_approval=True),
    "review": f.step("ask", requires_approval=True, approval_type="review"),
    "confirmation": f.step("ask", requires_approval=True, approval_type="confirmation"),
    "selection": f.step("ask", requires_approval=True, approval_type="selection", options=PICKS),
    "clarification": f.step("ask", "tests.steps:ask"),
    "error_resolution": f.step("ask", "tests.steps:fail"),
}
TYPES = tuple(_ASKING)

# What every type is answered with, so that its run goes on.
FITTING = {
    "approval": "approve",
    "review": "approve",
    "confirmation": "confirm",
    "selection": "dark green",
    "clarification": "PostgreSQL",
    "error_resolution": "skip",
}


def new_batch(**fields: Any) -> Batch:
    project, _ = Project.objects.get_or_create(name="Acme/App")
    known = {"batch_id": "coord-20261116-abc123", "workflow_id": "small", "started_by": "Otto"}
    return Batch.objects.create(project=project, **{**known, **fields})


def asks(batch: Batch, kind: str, work_id: str, **fields: Any) -> Run:
    """A run of the batch that waits for an answer of this type, with two rounds to go."""
    document = f.workflow({"build": [_ASKING[kind], f.step("then")]})
    run = f.started(document, work_id=work_id, batch=batch)
    if fields:
        FeedbackRequest.objects.filter(run=run).update(**fields)
    return run


def done(batch: Batch, work_id: str) -> Run:
    return f.started(f.workflow({"build": [f.step("only")]}), work_id=work_id, batch=batch)


def failed(batch: Batch, work_id: str, error: str = "The run left its plan.") -> Run:
    """A run that the engine itself could not go on with: it asks nothing."""
    run = f.start(f.workflow({"build": [f.step("only")]}), work_id=work_id, batch=batch)
    run.attempts.update(status="lost")
    Run.objects.filter(pk=run.pk).update(status=RunStatus.FAILED, error=error)
    return f.fresh(run)


def going(batch: Batch, work_id: str) -> Run:
    return f.start(f.workflow({"build": [f.step("only")]}), work_id=work_id, batch=batch)


def twelve(batch: Batch) -> dict[str, Run]:
    """Mixed outcomes: all six types, three completed, two failed, one that goes on."""
    runs = {str(100 + n): asks(batch, kind, str(100 + n)) for n, kind in enumerate(TYPES)}
    runs |= {work_id: done(batch, work_id) for work_id in ("110", "111", "112")}
    runs |= {work_id: failed(batch, work_id) for work_id in ("120", "121")}
    return runs | {"130": going(batch, "130")}


def set_branch(run: Run, name: str) -> None:
    Run.objects.filter(pk=run.pk).update(artifacts={"branch_name": name})
