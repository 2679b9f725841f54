"""Run JSON: of one run, or of a whole list in as many queries as of one."""

from collections.abc import Sequence

from django.db.models import prefetch_related_objects

from runs.domain.values.events import timestamp
from runs.models import Run
from runs.ports import PendingRequest, asker
from runs.record.endings import Ending, endings
from runs.record.state_json import resume_point, run_url

Json = dict[str, object]


def run_shape(run: Run) -> Json:
    """Of one run also what came too late; of many that would be a query more for hardly any."""
    return {**run_shapes([run])[0], "late_results": _late_results(run)}


def run_shapes(runs: Sequence[Run]) -> list[Json]:
    prefetch_related_objects(runs, "project", "batch")
    asked, ended, repeated = asker().pending(runs), endings(runs), _repeated(runs)
    return [
        _shape(run, asked.get(run.pk), ended.get(run.pk))
        | {"rerun_of": repeated.get(run.rerun_of_id or 0), "rerun_from": run.forked_at or None}
        for run in runs
    ]


def _repeated(runs: Sequence[Run]) -> dict[int, str]:
    """The ids of the runs that these repeat; a plan is not fetched for that."""
    keys = [run.rerun_of_id for run in runs if run.rerun_of_id]
    return dict(Run.objects.filter(pk__in=keys).values_list("pk", "run_id")) if keys else {}


def _late_results(run: Run) -> list[Json]:
    """What steps handed back when somebody else had them: kept for people, it changed nothing."""
    late = run.attempts.filter(late_response__isnull=False).order_by("pk")
    return [
        {
            "phase": attempt.phase,
            "step": attempt.step,
            "attempt": attempt.number,
            "reason": attempt.reason,
            "response": attempt.late_response,
        }
        for attempt in late.only("phase", "step", "number", "reason", "late_response")
    ]


def _shape(run: Run, asked: PendingRequest | None, ending: Ending | None) -> Json:
    unit = run.unit
    return {
        "run_id": run.run_id,
        "title": run.title,
        "work_id": run.work_id or None,
        "project": run.project.name,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "current_phase": unit.phase.value if unit else None,
        "current_step": unit.step.id if unit else None,
        "resume_point": resume_point(run),
        "progress": run.progress._asdict(),
        "artifacts": run.artifacts,
        "batch_id": run.batch.batch_id if run.batch else None,
        "started_by": run.started_by,
        "started_by_token": run.started_by_token or None,
        "created_at": timestamp(run.created_at),
        "updated_at": timestamp(run.updated_at),
        "completed_at": timestamp(run.completed_at) if run.completed_at else None,
        "error": run.error or None,
        "outcome": ending.outcome.value if ending else None,
        "ended_by": (ending.by or None) if ending else None,
        "cost_usd": run.cost_usd,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "budget": run.budget.model_dump() if run.budget else None,
        "pending_request": asked.request_id if asked else None,
        "due_at": timestamp(asked.due_at) if asked and asked.due_at else None,
        "url": run_url(run),
    }
