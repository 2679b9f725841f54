"""What the page of a run shows, read in few queries and handed on as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from runs.accounts import permissions
from runs.context import reader
from runs.context.reader import PackageSummary
from runs.domain.planning import budgets
from runs.domain.responses import usage
from runs.domain.values.actors import Actor
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Unit
from runs.engine import conformance
from runs.engine.conformance import Conformance
from runs.jobs import heartbeat
from runs.models import Artifact, OutputPart, Run, StepAttempt, StepOutput, live_output
from runs.pages.run import timeline
from runs.pages.run.event_log import Chronicle, chronicle
from runs.pages.run.place import RunPlace, place_of
from runs.pages.run.timeline import PhaseShown
from runs.ports import CodeShown, asker
from runs.record import state_json
from runs.record.endings import Ending, ending_of
from runs.spending import counting

LONGEST_CHAIN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProgress:
    """Where a run stands now, as far as a small part of a page can tell."""

    run: Run
    unit: Unit | None
    phases: Sequence[PhaseShown]
    attempt: StepAttempt | None
    printed: str  # the last lines so far
    asks: Mapping[str, object] | None  # the decision the run waits for
    version: str
    why_nothing_runs: str  # although the step is for a worker

    @property
    def waits_outside(self) -> bool:
        """Whether the step is for an executor that has not fetched it yet."""
        return self.attempt is not None and self.attempt.is_remote and _is_queued(self.attempt)

    @property
    def goes_on(self) -> bool:
        """Whether it moves by itself: it works, or an answer takes effect after its undo time."""
        return not self.run.rests or self.is_settling

    @property
    def is_settling(self) -> bool:
        return self.run.state is RunStatus.AWAITING_FEEDBACK and self.asks is None

    @property
    def worked_ms(self) -> int:
        return sum(phase.worked_ms for phase in self.phases)

    @property
    def waited_ms(self) -> int:
        return sum(phase.waited_ms for phase in self.phases)

    @property
    def cost(self) -> str:
        """What the run's agents say they cost."""
        made = (made for phase in self.phases for step in phase.steps for made in step.attempts)
        told = usage.total(each.attempt.usage for each in made)
        sums = {name: getattr(self.run, name) for name in counting.COLUMNS}
        return usage.spoken({**told, **{name: sum_ for name, sum_ in sums.items() if sum_}})

    @property
    def budget(self) -> str:
        return budgets.spoken(self.run.budget) if self.run.budget else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKept:
    """A path with every revision of it, newest first."""

    path: str
    revisions: Sequence[Artifact]

    @property
    def newest(self) -> Artifact:
        return self.revisions[0]

    @property
    def older(self) -> Sequence[Artifact]:
        return self.revisions[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShown:
    """Everything on the page of one run."""

    progress: LiveProgress
    conformance: Conformance
    decisions: Sequence[Mapping[str, object]]
    files: Sequence[FileKept]
    code: CodeShown | None
    packages: Sequence[PackageSummary]  # newest first
    chronicle: Chronicle
    earlier: Sequence[Run]  # what this run repeats, the first one first
    later: Sequence[Run]
    place: RunPlace
    ending: Ending | None
    may_steer: bool

    @property
    def behind(self) -> Sequence[str]:
        """The steps that a new run can begin at: all before them are done."""
        run = self.progress.run
        units = run.frozen_plan.units[1 : run.position + 1]
        return [unit.key for unit in units if not unit.is_hook]

    @property
    def steering(self) -> str:
        """Changes with the buttons that steer the run, and with nothing else."""
        run = self.progress.run
        may_resume = run.state is RunStatus.FAILED or run.on_hold
        return f"{int(may_resume)}{int(not run.state.is_final)}"


def _version_of(run: Run, attempt: StepAttempt | None, asks: object) -> str:
    """Changes with every event, with every line the running step prints, and with what is asked.

    An answer in its undo time is no event yet, and taking it back is none either.
    """
    printed = live_output.version(attempt) if attempt else 0
    return f"{run.last_event_id}-{run.status}-{printed:x}-{asks}"


def version(run: Run) -> str:
    return _version_of(run, state_json.open_attempt(run), asker().pending([run]).get(run.pk, ""))


def progress_of(run: Run) -> LiveProgress:
    return _progress(run, _attempts(run), asker().decisions(run))


def page_of(run: Run, actor: Actor, *, kind: str = "", all_events: bool = False) -> RunShown:
    decisions, packages = asker().decisions(run), reader.listed(run)
    return RunShown(
        progress=_progress(run, _attempts(run), decisions, packages),
        conformance=conformance.shown_of(run),
        decisions=decisions[::-1],
        files=_files(run),
        code=asker().code_shown(run),
        packages=packages[::-1],
        chronicle=chronicle(run, kind=kind, everything=all_events),
        earlier=_earlier(run),
        later=list(_named().filter(rerun_of=run).order_by("pk")),
        place=place_of(run, actor),
        ending=ending_of(run),
        may_steer=not run.is_foreign and permissions.may_steer(actor, run),
    )


def _progress(
    run: Run,
    attempts: Sequence[StepAttempt],
    decisions: Sequence[Mapping[str, object]],
    packages: Sequence[PackageSummary] = (),
) -> LiveProgress:
    attempt = next((a for a in attempts if a.status in StepAttempt.OPEN), None)
    asks = next((d for d in decisions if d["status"] == "pending"), None)
    numbers = {each.attempt.pk: each.number for each in packages}
    return LiveProgress(
        run=run,
        unit=None if run.state is RunStatus.COMPLETED else run.unit,
        phases=timeline.phases_of(run, attempts, decisions, now=timezone.now(), packages=numbers),
        attempt=attempt,
        printed=live_output.tail(attempt) if attempt else "",
        asks=asks,
        version=_version_of(run, attempt, asks["request_id"] if asks else ""),
        why_nothing_runs=heartbeat.why_nothing_runs() if _is_for_a_worker(attempt) else "",
    )


def _is_queued(attempt: StepAttempt) -> bool:
    return attempt.status == StepAttempt.Status.QUEUED


def _is_for_a_worker(attempt: StepAttempt | None) -> bool:
    return attempt is not None and _is_queued(attempt) and not attempt.is_remote


def _attempts(run: Run) -> list[StepAttempt]:
    own = {"attempt": OuterRef("pk")}
    kept = Exists(StepOutput.objects.filter(**own)) | Exists(OutputPart.objects.filter(**own))
    rows = run.attempts.defer("feedback", "failure_context", "files", "baseline").annotate(
        has_output=kept
    )
    return list(rows.order_by("id"))


def _files(run: Run) -> list[FileKept]:
    by_path: dict[str, list[Artifact]] = {}
    for artifact in run.revisions.defer("content").order_by("path", "-revision"):
        by_path.setdefault(artifact.path, []).append(artifact)
    return [FileKept(path=path, revisions=kept) for path, kept in by_path.items()]


def _named() -> QuerySet[Run]:
    return Run.objects.only("run_id", "uuid", "status", "created_at", "rerun_of_id")


def _earlier(run: Run) -> list[Run]:
    chain: list[Run] = []
    before = run.rerun_of_id
    while before and len(chain) < LONGEST_CHAIN:
        chain.append(_named().get(pk=before))
        before = chain[-1].rerun_of_id
    return chain[::-1]
