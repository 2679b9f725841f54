"""Where a run's time went: its phases, their steps, and each execution beside the others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime

from runs.domain.planning.state import PhaseState, StepState
from runs.domain.responses import usage
from runs.domain.values.phases import Phase
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import PlannedPhase, Unit
from runs.models import Run, StepAttempt
from runs.record import state_json

WIDEST = 1000  # of a bar, in the units it is drawn in
_THINNEST = 8

Decision = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptShown:
    attempt: StepAttempt
    duration_ms: int | None  # up to now while it runs
    width: int = 0  # of WIDEST
    package: int | None = None  # the number of what it was told

    @property
    def agent(self) -> str:
        return str((self.attempt.usage or {}).get("agent") or "")

    @property
    def cost(self) -> str:
        return usage.spoken(self.attempt.usage)

    @property
    def status(self) -> str:
        if self.attempt.status in StepAttempt.OPEN:
            running = self.attempt.status == StepAttempt.Status.RUNNING
            return "in_progress" if running else "pending"
        if self.attempt.status != StepAttempt.Status.FINISHED:
            return "cancelled"
        return _RESULTS.get(self.attempt.result, "completed")

    @property
    def outcome(self) -> str:
        return self.attempt.result or self.attempt.status


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWait:
    """The time a step stood still because a person was asked."""

    request_id: str
    duration_ms: int
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    title: str
    status: str
    kind: str = ""  # empty for a step of the plan
    description: str = ""
    attempts: Sequence[AttemptShown] = ()
    waits: Sequence[DecisionWait] = ()

    @property
    def last(self) -> AttemptShown | None:
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseShown:
    name: Phase
    status: str
    left_out: str = ""
    is_here: bool = False
    steps: Sequence[StepShown] = ()

    @property
    def worked_ms(self) -> int:
        return sum(a.duration_ms or 0 for step in self.steps for a in step.attempts)

    @property
    def waited_ms(self) -> int:
        return sum(wait.duration_ms for step in self.steps for wait in step.waits)


_RESULTS = {"failure": "failed", "pending_input": "awaiting_feedback"}


def phases_of(
    run: Run,
    attempts: Sequence[StepAttempt],
    decisions: Iterable[Decision],
    *,
    now: datetime,
    packages: Mapping[int, int] | None = None,
) -> list[PhaseShown]:
    """The phases in order; `packages` numbers what each attempt was told."""
    states = state_json.phases_of(run)
    made = _by_step(attempts, now, packages or {})
    waits = _waits(decisions, now)
    return [_phase(run, phase, states[phase.name], made, waits) for phase in run.frozen_plan.phases]


def _by_step(
    attempts: Sequence[StepAttempt], now: datetime, packages: Mapping[int, int]
) -> dict[str, list[AttemptShown]]:
    times = [_duration(attempt, now) for attempt in attempts]
    longest = max((time for time in times if time is not None), default=0)
    made: dict[str, list[AttemptShown]] = defaultdict(list)
    for attempt, time in zip(attempts, times, strict=True):
        shown = AttemptShown(
            attempt=attempt,
            duration_ms=time,
            width=width_of(time, longest),
            package=packages.get(attempt.pk),
        )
        made[attempt.key].append(shown)
    return made


def width_of(time: int | None, longest: int) -> int:
    """A bar that was drawn can be seen, however short what it stands for."""
    if time is None:
        return 0
    return max(_THINNEST, time * WIDEST // longest) if longest else _THINNEST


def _duration(attempt: StepAttempt, now: datetime) -> int | None:
    if attempt.taken_over_from:
        return None  # that time was another run's
    if attempt.started_at and attempt.status == StepAttempt.Status.RUNNING:
        return _between(attempt.started_at, now)
    return attempt.duration_ms


def _waits(decisions: Iterable[Decision], now: datetime) -> dict[str, list[DecisionWait]]:
    waits: dict[str, list[DecisionWait]] = defaultdict(list)
    for decision in decisions:
        point, given = decision["resume_point"], decision["response"]
        asked = parse_datetime(str(decision["requested_at"]))
        is_open = decision["status"] == "pending"
        told = given.get("received_at") if isinstance(given, Mapping) else None
        until = now if is_open else parse_datetime(str(told or ""))
        if asked and until and isinstance(point, Mapping):
            wait = DecisionWait(
                request_id=str(decision["request_id"]),
                duration_ms=_between(asked, until),
                is_open=is_open,
            )
            waits[f"{point['phase']}:{point['step']}"].append(wait)
    return waits


def _between(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds() * 1000))


def _phase(
    run: Run,
    phase: PlannedPhase,
    state: PhaseState,
    made: Mapping[str, list[AttemptShown]],
    waits: Mapping[str, list[DecisionWait]],
) -> PhaseShown:
    here = run.unit if run.unit and run.unit.phase is phase.name else None
    planned = [
        _planned(run, unit, state.steps, made.get(unit.key, ()), waits.get(unit.key, ()))
        for unit in phase.units
    ]
    known = {unit.step.id for unit in phase.units}
    return PhaseShown(
        name=phase.name,
        status="skipped" if phase.left_out else _status(run, state.status, here=bool(here)),
        left_out=phase.left_out,
        is_here=bool(here) and run.state is not RunStatus.COMPLETED,
        steps=planned + [_unplanned(step) for id_, step in state.steps.items() if id_ not in known],
    )


def _planned(
    run: Run,
    unit: Unit,
    states: Mapping[str, StepState],
    attempts: Sequence[AttemptShown],
    waits: Sequence[DecisionWait],
) -> StepShown:
    if unit.is_hook:
        status = _of_hook(attempts)
    else:
        status = states[unit.step.id].status if unit.step.id in states else "pending"
    return StepShown(
        title=unit.step.title,
        status=_status(run, status, here=unit == run.unit),
        kind="hook" if unit.is_hook else "",
        description=unit.step.description,
        attempts=attempts,
        waits=() if unit.is_hook else waits,
    )


def _unplanned(step: StepState) -> StepShown:
    return StepShown(title=step.id, status=step.status, kind="not in the plan")


_HOOK_RESULTS = {"failure": "failed", "": "in_progress"}


def _of_hook(attempts: Sequence[AttemptShown]) -> str:
    if not attempts:
        return "pending"
    return _HOOK_RESULTS.get(attempts[-1].attempt.result, "completed")


def _status(run: Run, told: str, *, here: bool) -> str:
    """What the history tells, unless the run rests exactly here."""
    rests = (RunStatus.AWAITING_FEEDBACK, RunStatus.FAILED, RunStatus.CANCELLED)
    return run.status if here and run.state in rests else told
