"""What the pages show of runs, read in few queries and handed on as values."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet

from runs import beats, permissions, records
from runs.domain.actors import Actor
from runs.domain.phases import Phase
from runs.domain.plan import PlannedPhase, Unit
from runs.domain.state import PhaseState, StepState
from runs.domain.status import RunStatus
from runs.domain.verification import Verdict
from runs.models import Artifact, Event, Run, StepAttempt
from runs.ports import asker

PER_PAGE = 50
NEWEST_EVENTS = 50
# What only an executor needs; a plan is read where steps are shown.
_HEAVY = ("plan", "inputs", "environment", "approvals", "prompt", "artifacts")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    title: str
    status: str
    kind: str = ""  # empty for a step of the plan
    description: str = ""
    attempts: Sequence[StepAttempt] = ()

    @property
    def last(self) -> StepAttempt | None:
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseShown:
    name: Phase
    status: str
    left_out: str = ""
    is_here: bool = False
    steps: Sequence[StepShown] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands now, as far as a small part of a page can tell."""

    run: Run
    unit: Unit | None
    phases: Sequence[PhaseShown]
    attempt: StepAttempt | None
    asks: Mapping[str, object] | None  # the decision the run waits for
    version: str
    lacks_worker: bool

    @property
    def waits_outside(self) -> bool:
        """Whether the step is for an executor that has not fetched it yet."""
        return self.attempt is not None and self.attempt.is_remote and _is_queued(self.attempt)

    @property
    def goes_on(self) -> bool:
        return not self.run.state.is_stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShown:
    """Everything on the page of one run."""

    progress: Progress
    verdict: Verdict
    decisions: Sequence[Mapping[str, object]]
    revisions: Sequence[Artifact]
    events: Sequence[Event]
    reruns: Sequence[Run]
    may_steer: bool


def found(text: str, status: str) -> QuerySet[Run]:
    """Runs by any part of their id, work id or project, newest first."""
    runs = Run.objects.select_related("project").defer(*_HEAVY)
    if status:
        runs = runs.filter(status=status)
    if text:
        runs = runs.filter(
            Q(run_id__icontains=text)
            | Q(work_id__icontains=text)
            | Q(project__name__icontains=text)
        )
    return runs.order_by("-created_at", "-id")


def leaf(runs: QuerySet[Run], number: str) -> Page[Run]:
    return Paginator(runs, PER_PAGE).get_page(number)


def version_of(run: Run, attempt: StepAttempt | None) -> str:
    """Changes with every event, and with every line the running step prints."""
    printed = crc32(attempt.progress.encode()) if attempt else 0
    return f"{run.last_event_id}-{run.status}-{printed:x}"


def version(run: Run) -> str:
    return version_of(run, records.open_attempt(run))


def progress_of(run: Run) -> Progress:
    return _progress(run, _attempts(run), asker().decisions(run))


def shown(run: Run, actor: Actor, *, all_events: bool) -> RunShown:
    attempts = _attempts(run)
    decisions = asker().decisions(run)
    events = Event.objects.filter(run=run).order_by("-number")
    return RunShown(
        progress=_progress(run, attempts, decisions),
        verdict=records.verdict_of(run),
        decisions=decisions[::-1],
        revisions=list(run.revisions.defer("content").order_by("path", "-revision")),
        events=list(events if all_events else events[:NEWEST_EVENTS]),
        reruns=list(run.reruns.only("run_id", "uuid", "status")),
        may_steer=permissions.may_steer(actor, run),
    )


def _progress(
    run: Run, attempts: Sequence[StepAttempt], decisions: Iterable[Mapping[str, object]]
) -> Progress:
    attempt = next((a for a in attempts if a.status in StepAttempt.OPEN), None)
    return Progress(
        run=run,
        unit=None if run.state is RunStatus.COMPLETED else run.unit,
        phases=_phases(run, attempts),
        attempt=attempt,
        asks=next((d for d in decisions if d["status"] == "pending"), None),
        version=version_of(run, attempt),
        lacks_worker=_is_for_a_worker(attempt) and not beats.worker_is_alive(),
    )


def _is_queued(attempt: StepAttempt) -> bool:
    return attempt.status == StepAttempt.Status.QUEUED


def _is_for_a_worker(attempt: StepAttempt | None) -> bool:
    return attempt is not None and _is_queued(attempt) and not attempt.is_remote


def _attempts(run: Run) -> list[StepAttempt]:
    return list(run.attempts.defer("feedback", "failure_context", "files").order_by("id"))


def _phases(run: Run, attempts: Iterable[StepAttempt]) -> list[PhaseShown]:
    states = records.phases_of(run)
    made: dict[str, list[StepAttempt]] = defaultdict(list)
    for attempt in attempts:
        made[attempt.key].append(attempt)
    return [_phase(run, phase, states[phase.name], made) for phase in run.frozen_plan.phases]


def _phase(
    run: Run, phase: PlannedPhase, state: PhaseState, made: Mapping[str, list[StepAttempt]]
) -> PhaseShown:
    here = run.unit if run.unit and run.unit.phase is phase.name else None
    planned = [_planned(run, unit, state.steps, made.get(unit.key, [])) for unit in phase.units]
    known = {unit.step.id for unit in phase.units}
    return PhaseShown(
        name=phase.name,
        status="skipped" if phase.left_out else _status(run, state.status, here=bool(here)),
        left_out=phase.left_out,
        is_here=bool(here) and run.state is not RunStatus.COMPLETED,
        steps=planned + [_unplanned(step) for id_, step in state.steps.items() if id_ not in known],
    )


def _planned(
    run: Run, unit: Unit, states: Mapping[str, StepState], attempts: Sequence[StepAttempt]
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
    )


def _unplanned(step: StepState) -> StepShown:
    return StepShown(title=step.id, status=step.status, kind="not in the plan")


_HOOK_RESULTS = {"failure": "failed", "": "in_progress"}


def _of_hook(attempts: Sequence[StepAttempt]) -> str:
    return _HOOK_RESULTS.get(attempts[-1].result, "completed") if attempts else "pending"


def _status(run: Run, told: str, *, here: bool) -> str:
    """What the history tells, unless the run rests exactly here."""
    rests = (RunStatus.AWAITING_FEEDBACK, RunStatus.FAILED, RunStatus.CANCELLED)
    return run.status if here and run.state in rests else told
