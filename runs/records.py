"""A run as plain values: the seeds' state.json and metadata.json, and Run JSON."""

from dataclasses import dataclass

from django.conf import settings

from runs.domain import state, telling, verification
from runs.domain.events import EventType, timestamp
from runs.domain.phases import Phase
from runs.domain.status import RunStatus
from runs.models import Event, Run, StepAttempt
from runs.ports import asker

Json = dict[str, object]

_FAILING = (EventType.STEP_ERROR, EventType.HOOK_EXECUTE)


@dataclass(frozen=True, slots=True)
class Records:
    """What is on record about a run, read once for everything that is rendered from it."""

    run: Run
    events: list[Json]
    decisions: list[Json]

    @property
    def phases(self) -> dict[Phase, state.PhaseState]:
        return state.fold(self.run.frozen_plan, self.events)

    @property
    def pending(self) -> Json | None:
        return next((d for d in self.decisions if d["status"] == "pending"), None)


def read(run: Run) -> Records:
    told = Event.objects.filter(run=run).order_by("number").values_list("document", flat=True)
    return Records(run, list(told), asker().decisions(run))


def phases_of(run: Run) -> dict[Phase, state.PhaseState]:
    told = Event.objects.filter(run=run, type__in=state.FOLDED).order_by("number")
    return state.fold(run.frozen_plan, told.values_list("document", flat=True))


def state_of(run: Run) -> Json:
    """The seeds' state.json, rendered from rows."""
    return render_state(read(run))


def render_state(known: Records) -> Json:
    run, pending = known.run, known.pending
    phases = {name.value: phase.shape() for name, phase in known.phases.items()}
    for name in Phase:
        phases.setdefault(name.value, {"status": "pending", "steps": []})
    phases["evaluate"]["retry_count"] = run.retry_count
    unit = run.unit
    document: Json = {
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "target": run.target or None,
        "workflow_id": run.workflow_id,
        "workflow_version": "2.1",
        "plan_hash": run.plan_hash,
        "status": run.status,
        "current_phase": unit.phase.value if unit else None,
        "current_step": unit.step.id if unit else None,
        "current_step_index": unit.index if unit else None,
        "last_event_id": run.last_event_id,
        "started_at": timestamp(run.created_at),
        "updated_at": timestamp(run.updated_at),
        "completed_at": timestamp(run.completed_at) if run.completed_at else None,
        "phases": phases,
        "artifacts": run.artifacts,
        "errors": [_error(event) for event in known.events if event.get("type") == "step_error"],
        "additional_instructions": run.prompt or None,
        "feedback_request": _pending(pending) if pending else None,
        "resume_point": resume_point(run),
        "feedback_history": [
            _history(decision) for decision in known.decisions if decision["response"]
        ],
    }
    if run.state is RunStatus.CANCELLED:
        document["cancellation_reason"] = run.error
    return document


def _pending(decision: Json) -> Json:
    return {
        key: decision[key]
        for key in (
            "request_id",
            "type",
            "prompt",
            "options",
            "context",
            "requested_at",
            "notification_sent",
            "resume_point",
        )
    }


def _history(decision: Json) -> Json:
    response = decision["response"]
    given: Json = dict(response) if isinstance(response, dict) else {}
    return {
        "request_id": decision["request_id"],
        "request_type": decision["type"],
        **{
            k: given.get(k) for k in ("response", "action", "comment", "provided_by", "received_at")
        },
    }


def _error(event: Json) -> Json:
    return {key: event.get(key) for key in ("phase", "step", "message", "timestamp")}


def resume_point(run: Run) -> Json | None:
    unit = run.unit
    return telling.resume_point(unit) if unit and not run.state.is_final else None


def metadata_of(run: Run) -> Json:
    """The seeds' metadata.json: what the run was launched with, and its plan."""
    return {
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "target": run.target or None,
        "workflow_id": run.workflow_id,
        "autonomy": run.autonomy,
        "source_type": "github",
        "phases": run.phases,
        "created_at": timestamp(run.created_at),
        "created_by": run.started_by,
        "relationships": {
            "parent_run_id": None,
            "rerun_of": run.rerun_of.run_id if run.rerun_of else None,
            "child_runs": [],
        },
        "environment": run.environment,
        "project": run.project.name,
        "workspace": run.workspace,
        "additional_instructions": run.prompt or None,
        "inputs": run.inputs,
        "plan_hash": run.plan_hash,
        "plan": run.plan,
    }


def verdict_of(run: Run) -> verification.Verdict:
    """Executed against planned; a run that is not at its end is only held to what it reached."""
    told = Event.objects.filter(run=run, type__in=verification.TELLING).order_by("number")
    traces = [
        verification.Trace(type=kind, key=f"{phase}:{step}")
        for kind, phase, step in told.values_list("type", "phase", "step")
    ]
    plan = run.frozen_plan
    if run.state is RunStatus.COMPLETED:
        return verification.verify(plan.step_keys, traces)
    reached = sum(1 for unit in plan.units[: run.position] if not unit.is_hook)
    return verification.verify_so_far(plan.step_keys, traces, reached=reached)


def verdict_shape(verdict: verification.Verdict) -> Json:
    return {
        "conforms": verdict.conforms,
        "matched": list(verdict.matched),
        "missing": list(verdict.missing),
        "extra": list(verdict.extra),
        "reordered": list(verdict.reordered),
        "fabricated": list(verdict.fabricated),
    }


def run_url(run: Run) -> str:
    return f"{settings.FABER_BASE_URL}/runs/{run.run_id}/"


def run_shape(run: Run) -> Json:
    """Run JSON of the contract."""
    unit = run.unit
    plan = run.frozen_plan
    known = read(run)
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
            "done": len(state.done_steps(known.phases)),
            "total": len(plan.step_keys),
        },
        "artifacts": run.artifacts,
        "batch_id": run.batch.batch_id if run.batch else None,
        "started_by": run.started_by,
        "created_at": timestamp(run.created_at),
        "updated_at": timestamp(run.updated_at),
        "completed_at": timestamp(run.completed_at) if run.completed_at else None,
        "error": run.error or None,
        "pending_request": known.pending["request_id"] if known.pending else None,
        "url": run_url(run),
    }


def open_attempt(run: Run) -> StepAttempt | None:
    return run.attempts.filter(status__in=StepAttempt.OPEN).first()
