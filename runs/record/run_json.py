"""Run JSON: of one run, or of a whole list in as many queries as of one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import prefetch_related_objects

from runs.domain.planning import state
from runs.domain.values.events import spellings_of, timestamp
from runs.models import Event, Run
from runs.ports import asker
from runs.record.state_json import resume_point, run_url

Json = dict[str, object]

_FOLDED = spellings_of(*state.FOLDED)


def run_shape(run: Run) -> Json:
    return run_shapes([run])[0]


def run_shapes(runs: Sequence[Run]) -> list[Json]:
    prefetch_related_objects(runs, "project", "batch")
    told, asked = _told(runs), asker().pending(runs)
    return [_shape(run, told[run.pk], asked.get(run.pk)) for run in runs]


def _told(runs: Sequence[Run]) -> Mapping[int, list[Json]]:
    """Of each run's history the columns that tell how far it is."""
    rows = Event.objects.filter(run__in=runs, type__in=_FOLDED).order_by("run_id", "number")
    told: dict[int, list[Json]] = defaultdict(list)
    for row in rows.values("run_id", "type", "phase", "step"):
        told[row["run_id"]].append({**row})
    return told


def _shape(run: Run, told: Iterable[Json], request_id: str | None) -> Json:
    unit, plan = run.unit, run.frozen_plan
    return {
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "project": run.project.name,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "current_phase": unit.phase.value if unit else None,
        "current_step": unit.step.id if unit else None,
        "resume_point": resume_point(run),
        "progress": {
            "done": len(state.done_steps(state.fold(plan, told))),
            "total": len(plan.step_keys),
        },
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
