"""Run JSON: of one run, or of a whole list in as many queries as of one."""

from collections.abc import Sequence

from django.db.models import prefetch_related_objects

from runs.domain.values.events import timestamp
from runs.models import Run
from runs.ports import asker
from runs.record.state_json import resume_point, run_url

Json = dict[str, object]


def run_shape(run: Run) -> Json:
    return run_shapes([run])[0]


def run_shapes(runs: Sequence[Run]) -> list[Json]:
    prefetch_related_objects(runs, "project", "batch")
    asked = asker().pending(runs)
    return [_shape(run, asked.get(run.pk)) for run in runs]


def _shape(run: Run, request_id: str | None) -> Json:
    unit = run.unit
    return {
        "run_id": run.run_id,
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
        "created_at": timestamp(run.created_at),
        "updated_at": timestamp(run.updated_at),
        "completed_at": timestamp(run.completed_at) if run.completed_at else None,
        "error": run.error or None,
        "pending_request": request_id,
        "url": run_url(run),
    }
