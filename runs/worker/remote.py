"""Hands steps to executors outside, and takes back what they made of them."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.db import transaction

from runs import engine
from runs.accounts import permissions
from runs.domain.planning import titles
from runs.domain.responses import results
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, NotFound, Problem, Refused
from runs.domain.values.events import timestamp
from runs.domain.values.ids import check_project, check_work_id
from runs.domain.values.questions import Gate, Question
from runs.domain.values.status import RunStatus
from runs.engine import Claim, starting
from runs.engine.change import PLAN_CHANGED
from runs.engine.concealing import concealed
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.executors.orders import Outcome
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Project, Run, StepAttempt, clock, places
from runs.ports import asker
from runs.worker import advance
from runs.worker.handed_in import HandedIn
from runs.workflow_files import ask_only

Json = dict[str, object]

ASKED_BY_DEFAULT = "local/questions"


class LeaseLost(Refused):
    """The step is not yours any more; nothing was changed."""

    code = "lease_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLease:
    """Who may finish a step; its name says how long a heartbeat renews it for."""

    holder: str
    seconds: int

    @classmethod
    def new(cls, executor: str, seconds: int) -> "RemoteLease":
        name = cls.name_of(executor)
        return cls(holder=f"{name}/{seconds}/{secrets.token_urlsafe(12)}", seconds=seconds)

    @staticmethod
    def name_of(executor: str) -> str:
        """An executor as leases name it."""
        # Unlike the name of a worker of ours it has no colon, so neither passes for the other.
        return executor.replace(":", "-").replace("/", "-")[:80]

    @staticmethod
    def executor_of(holder: str) -> str:
        """Who has, or had, a lease; nothing where it is none of these."""
        return holder.split("/", maxsplit=1)[0] if holder.count("/") == 2 else ""

    @classmethod
    def named(cls, holder: str) -> "RemoteLease":
        seconds = holder.split("/")[1] if holder.count("/") == 2 else ""
        if not (seconds.isascii() and seconds.isdecimal()):
            raise LeaseLost("No such lease.")
        return cls(holder=holder, seconds=int(seconds))

    def end(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.seconds)


def take(run: Run, executor: str, seconds: int | None = None) -> Json:
    """What an executor does next: a step of its own, wait, or nothing any more."""
    while claim := _lease(run, executor, seconds):
        briefed = advance.briefing_of(claim)
        if not isinstance(briefed, advance.Hindrance):
            if advance.is_here(claim):
                advance.note_baseline(claim)
            return _execute(claim, briefed)
        engine.settle(claim, briefed.outcome, asks=briefed.asks)
    return _resting(Run.objects.get(pk=run.pk))


def finish(run: Run, lease: str, response: Json, files: Sequence[FoundFile] = ()) -> None:
    """Record what an executor made of its step, unless the step is somebody else's by now.

    Its files are those it sent: what it names is never looked for on this machine.
    """
    claim = _claim_of(run, lease)
    handed_in = HandedIn(response=response, files=tuple(files))
    evidence = claim.unit.step.evidence
    has_commands = advance.is_here(claim) and any(piece.command for piece in evidence)
    outcome, found = Outcome(result=handed_in.result_of(claim.unit.key)), handed_in.files
    if not has_commands and _renew(claim):
        outcome, found = advance.weighed(claim, handed_in, _Nobody())
    settled = None if has_commands else engine.settlement(claim, outcome, found)
    with _locked(run):
        is_held = _renew(claim)
        if is_held and settled is None:
            _hand_over(claim, handed_in)
        elif is_held and settled is not None:
            engine.put_on_record(claim, settled)
    if not is_held:
        # Nobody may have noticed yet that the lease ran out; the result is kept as a late one.
        engine.bring_back(run.pk)
        engine.settle(claim, outcome)
        raise LeaseLost


def _hand_over(claim: Claim, what: HandedIn) -> None:
    """A worker looks for the evidence: commands may take long, and here somebody waits."""
    StepAttempt.objects.filter(pk=claim.attempt.pk).update(
        status=StepAttempt.Status.QUEUED,
        is_remote=False,
        worker="",
        lease_until=None,
        handed_in=what.dump(),
    )
    queue.enqueue(Job.ADVANCE_RUN, claim.run.pk)


class _Nobody:
    """Watches where no command is run."""

    def line(self, stream: str, text: str) -> None: ...

    def should_stop(self) -> bool:
        return False

    def hold(self) -> None:
        return None


def keep(run: Run, lease: str) -> Json:
    """Renew a lease for as long as it was taken."""
    claim = _claim_of(run, lease)
    with _locked(run):
        is_held = _renew(claim)
    if not is_held:
        raise LeaseLost
    return _execute(claim, None)


def ask(
    run: Run,
    question: Question,
    *,
    executor: str,
    lease: str,
    files: Sequence[FoundFile],
    agent: str = "",
) -> None:
    """Park a run with a question of its executor; the answer hands the step out again."""
    with _locked(run):
        claim = _claim_of(run, lease) if lease else _lease(run, executor, None)
        if claim is None:
            raise Refused(_why_not(Run.objects.get(pk=run.pk)))
        if not _renew(claim):
            raise LeaseLost
        asked = results.read_response(_handed_back(question), step=claim.unit.key)
        outcome = Outcome(result=asked, usage={"agent": agent} if agent else None)
        engine.settle(claim, outcome, tuple(files), asks=question)
        if question.gate is Gate.AFTER_STEP:
            _call_by_question(run, question)


def _call_by_question(run: Run, question: Question) -> None:
    """A run that was made for one question, and shows no document, is called by that."""
    title = titles.cleaned(question.title or question.prompt, concealed)
    Run.objects.filter(pk=run.pk, own_title="").update(own_title=title)


def gate_of(run: Run) -> Gate:
    """A step that asks is not done until it has the answer; a run made for asking is."""
    return Gate.AFTER_STEP if run.plan_hash == ask_only.plan().digest else Gate.INPUT


def asked_by_default(actor: Actor) -> str:
    """The project of a question that names none: the only one there is for whoever asks."""
    names = Project.objects.filter(pk__in=actor.projects or ()).values_list("name", flat=True)
    return names[0] if len(names) == 1 else ASKED_BY_DEFAULT


def start_asking(actor: Actor, *, project: str, work_id: str) -> Run:
    """A run of one step for a question from outside; nothing of it executes on this machine."""
    name = check_project(project or asked_by_default(actor))
    known = starting.project_seen(name, actor)
    permissions.check_may_act(actor, known)
    if known is None and project and actor.is_agent:
        # The site speaks on the issues of its projects, so an agent cannot make one of its own.
        raise NotFound(f"There is no project {name!r}. Someone has to start a run in it first.")
    folder = own_folder(name)
    if known is None:
        known, _ = Project.objects.get_or_create(
            name__iexact=name, defaults={"name": name, "workspace": places.stored(folder)}
        )
    order = engine.Start(
        plan=ask_only.plan(),
        project=known,
        workspace=folder,
        work_id=check_work_id(work_id),
        actor=actor,
    )
    # Also where only one run at a time may work: it may be that run's executor who asks.
    return engine.start(order)[0]


def _handed_back(question: Question) -> Json:
    if question.gate is Gate.AFTER_STEP:
        return {"status": "success", "message": question.prompt}
    pending = {"reason": question.prompt, "questions_presented": True}
    return {"status": "pending_input", "message": question.prompt, "pending_input": pending}


def own_folder(project: str) -> Path:
    """Where a project works that has no folder on this machine."""
    folder = places.own_place(project)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def sent_files(sent: Sequence[tuple[str, bytes]]) -> tuple[FoundFile, ...]:
    """Files that came with a call, as if they had been read from the workspace."""
    problems = [
        Problem("files", f"{path!r} {why}")
        for path, content in sent
        if (why := _wrong(path, content))
    ]
    if problems:
        raise Invalid(problems)
    return tuple(FoundFile(path=path, content=content) for path, content in sent)


def _wrong(path: str, content: bytes) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or str(pure) != path:
        return "is not a path inside the workspace"
    return "is too large" if len(content) > artifacts.LARGEST else ""


def _lease(run: Run, executor: str, seconds: int | None) -> Claim | None:
    """Sign for the step that waits for somebody outside; one that was lost is handed out again."""
    now = clock.now()
    outside = StepAttempt.objects.filter(run_id=run.pk, is_remote=True)
    if outside.filter(status=StepAttempt.Status.RUNNING, lease_until__lt=now).exists():
        engine.bring_back(run.pk)
    queued = outside.filter(status=StepAttempt.Status.QUEUED).select_related("run")
    waiting = queued.first()
    if waiting is None or not engine.holds_plan(waiting):
        return None
    step = waiting.run.frozen_plan.units[waiting.position].step
    most = step.timeout or settings.FABER_STEP_TIMEOUT
    lease = RemoteLease.new(executor, min(seconds or most, most))
    # One conditional update decides who gets it.
    signed = outside.filter(pk=waiting.pk, status=StepAttempt.Status.QUEUED).update(
        status=StepAttempt.Status.RUNNING,
        worker=lease.holder,
        started_at=now,
        lease_until=lease.end(now),
    )
    return _claim_of(run, lease.holder) if signed else None


def _claim_of(run: Run, lease: str) -> Claim:
    """The step that was taken with this lease, whoever has it now."""
    taken = StepAttempt.objects.select_related("run__project").filter(run_id=run.pk, is_remote=True)
    attempt = taken.filter(worker=lease).first() if lease else None
    if attempt is None:
        raise LeaseLost(f"This run has no lease {lease[:100]!r}.")
    if not engine.holds_plan(attempt):
        raise LeaseLost(PLAN_CHANGED)
    unit = attempt.run.frozen_plan.units[attempt.position]
    return Claim(run=attempt.run, attempt=attempt, unit=unit)


def _renew(claim: Claim) -> bool:
    """Whether the step is still its holder's; a lease that ran out is lost, taken over or not."""
    now, lease = clock.now(), RemoteLease.named(claim.attempt.worker)
    held = StepAttempt.objects.filter(
        pk=claim.attempt.pk, status=StepAttempt.Status.RUNNING, lease_until__gte=now
    )
    claim.attempt.lease_until = lease.end(now)
    return bool(held.update(lease_until=claim.attempt.lease_until))


@contextmanager
def _locked(run: Run) -> Iterator[None]:
    """The run's lock comes before any on its attempt, here as in the engine."""
    with transaction.atomic():
        Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        yield


def _execute(claim: Claim, briefing: Json | None) -> Json:
    attempt, step = claim.attempt, advance.filled_unit(claim).step
    return {
        "action": "execute",
        "lease": attempt.worker,
        "lease_until": timestamp(attempt.lease_until) if attempt.lease_until else None,
        "phase": attempt.phase,
        "step": attempt.step,
        "definition": step.model_dump(mode="json", exclude_defaults=True),
        "briefing": briefing,
    }


def _resting(run: Run) -> Json:
    if run.state.is_final or run.state is RunStatus.FAILED:
        return {"action": "done", "status": run.status}
    request_id = _open_request(run)
    asked = asker().inquiries(run) if request_id else []
    return {
        "action": "wait",
        "request_id": request_id,
        **({"questions": asked} if asked else {}),
    }


def _open_request(run: Run) -> str | None:
    asked = asker().pending([run]).get(run.pk)
    return asked.request_id if asked else None


def _why_not(run: Run) -> str:
    if open_request := _open_request(run):
        return f"The run already has the open request {open_request}. A run asks one at a time."
    if run.state is not RunStatus.IN_PROGRESS:
        return f"The run is {run.state.label}. Only runs in progress can ask."
    return (
        "A step of this run is in progress. Its executor can return `pending_input` "
        "or ask with its lease."
    )
