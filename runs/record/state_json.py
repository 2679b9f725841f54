"""A run as plain values: the seeds' state.json and metadata.json."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Max, Q

from runs.domain.planning import event_texts, forks, state
from runs.domain.values.events import ALIASES, EventType, spellings_of, timestamp
from runs.domain.values.phases import Phase
from runs.domain.values.plain_json import text_at
from runs.domain.values.status import RunStatus
from runs.models import Event, Run, StepAttempt
from runs.models.statements import Prepared
from runs.ports import asker
from runs.record import foreign_keys

Json = dict[str, object]

LAST_EVENTS = 20
SHORT_HISTORY = 300  # events, which are read whole faster than sorted out
_ERRORS = spellings_of(EventType.STEP_ERROR)
_FOLDED = spellings_of(*state.FOLDED)


@dataclass(frozen=True, slots=True)
class Records:
    """What is on record about a run, read once for everything that is rendered from it."""

    run: Run
    events: list[Json]  # for a step, of a long history only those that still count
    decisions: list[Json]

    @property
    def phases(self) -> dict[Phase, state.PhaseState]:
        return state.fold(self.run.frozen_plan, self.events)

    @property
    def pending(self) -> Json | None:
        return next((d for d in self.decisions if d["status"] == "pending"), None)


_TOLD = Prepared(
    lambda run: Event.objects.filter(run=run).order_by("number").values_list("document"), -1
)


def read(run: Run) -> Records:
    told = [document for (document,) in _TOLD.rows(run.pk)]
    return Records(run, told, decisions_of(run))


def decisions_of(run: Run) -> list[Json]:
    """Every decision of the run; of one that was forked also those it took over, marked."""
    own, original = asker().decisions(run), run.rerun_of if run.forked_at else None
    if original is None:
        return own
    plan = run.frozen_plan
    behind = {unit.key for unit in plan.units[: forks.point(plan, run.forked_at)]}
    taken: list[Json] = [
        {"taken_over_from": original.run_id, **decision}
        for decision in decisions_of(original)
        if decision["response"] and _asked_at(decision) in behind
    ]
    return [*taken, *own]


def _asked_at(decision: Json) -> str:
    phase, step = (text_at(decision, "resume_point", key) for key in ("phase", "step"))
    return f"{phase}:{step}"


def read_for_step(run: Run) -> Records:
    """The same, but of a long history only what a state is made of, and the last events."""
    if run.last_event_id <= SHORT_HISTORY:
        return read(run)
    told = Event.objects.filter(run=run)
    # Of events of one kind about one step only the last still counts.
    counting = told.filter(type__in=_FOLDED).values("type", "phase", "step")
    latest = counting.annotate(latest=Max("number")).values_list("latest", flat=True)
    wanted = Q(number__gt=run.last_event_id - LAST_EVENTS) | Q(type__in=_ERRORS)
    kept = told.filter(wanted | Q(number__in=list(latest.order_by()))).order_by("number")
    return Records(run, list(kept.values_list("document", flat=True)), decisions_of(run))


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
        "errors": [_error(event) for event in known.events if _is_error(event)],
        "additional_instructions": run.prompt or None,
        "feedback_request": _pending(pending) if pending else None,
        "resume_point": resume_point(run),
        "feedback_history": [
            _history(decision) for decision in known.decisions if decision["response"]
        ],
    }
    if run.state is RunStatus.CANCELLED:
        document["cancellation_reason"] = run.error
    return foreign_keys.state(document, run.carried) if run.carried else document


def _pending(decision: Json) -> Json:
    return {
        key: decision[key]
        for key in (
            *("request_id", "type", "prompt", "options", "context", "requested_at"),
            *("notification_sent", "resume_point"),
        )
    }


def _history(decision: Json) -> Json:
    response = decision["response"]
    given: Json = dict(response) if isinstance(response, dict) else {}
    history: Json = {
        "request_id": decision["request_id"],
        "request_type": decision["type"],
        **{key: decision[key] for key in ("taken_over_from",) if key in decision},
        **{
            k: given.get(k) for k in ("response", "action", "comment", "provided_by", "received_at")
        },
    }
    # Given to files that had changed: the run asked again instead of going on.
    return {**history, "superseded": True} if decision["status"] == "superseded" else history


def _is_error(event: Json) -> bool:
    kind = str(event.get("type"))
    return ALIASES.get(kind, kind) == EventType.STEP_ERROR


def _error(event: Json) -> Json:
    return {key: event.get(key) for key in ("phase", "step", "message", "timestamp")}


def resume_point(run: Run) -> Json | None:
    unit = run.unit
    return event_texts.resume_point(unit) if unit and not run.state.is_final else None


def metadata_of(run: Run) -> Json:
    """The seeds' metadata.json: what the run was launched with, and its plan."""
    document: Json = {
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
        "workspace": str(run.folder),
        "additional_instructions": run.prompt or None,
        "inputs": run.inputs,
        "plan_hash": run.plan_hash,
        "plan": run.plan,
    }
    return foreign_keys.metadata(document, run.carried) if run.carried else document


def run_url(run: Run) -> str:
    return f"{settings.FABER_BASE_URL}/runs/{run.run_id}/"


def open_attempt(run: Run) -> StepAttempt | None:
    return run.attempts.filter(status__in=StepAttempt.OPEN).first()
