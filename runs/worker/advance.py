"""Executes a run's steps, one after another, until the run parks."""

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.utils import timezone

from runs import context, engine
from runs.context import briefing
from runs.domain.planning import gates, titles
from runs.domain.responses import results
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.plain_json import given
from runs.domain.values.questions import Question
from runs.domain.workflow import commands
from runs.domain.workflow.definition import Step
from runs.domain.workflow.evidence import filled
from runs.domain.workflow.placeholders import as_text, fill_arguments, fill_text
from runs.domain.workflow.plan import Unit
from runs.engine import Claim
from runs.engine.concealing import concealed
from runs.engine.files import artifacts, pictures
from runs.executors import Order, Outcome, Rules, Watcher, execute
from runs.executors.agents import kind_for
from runs.jobs import draining, log_context, queue
from runs.jobs.table import Job
from runs.models import Run, machine, places
from runs.models.statements import OUT_OF_REACH, update
from runs.telemetry import telling
from runs.worker import evidence, placing, sessions, settling
from runs.worker.handed_in import HandedIn
from runs.worker.lease import Lease
from runs.worker.packages import Packages, known_to, unfit
from runs.workspaces import edited, forked, hidden, worktrees

Json = dict[str, object]

LONGEST_VALUE = 100_000  # bytes, of one in the environment


class Observer(Protocol):
    """Somebody who watches a run being driven, such as a terminal."""

    def step_begins(self, claim: Claim) -> None: ...

    def line(self, stream: str, text: str) -> None: ...

    def step_ends(self, claim: Claim) -> None: ...


class Nobody:
    def step_begins(self, claim: Claim) -> None: ...

    def line(self, stream: str, text: str) -> None: ...

    def step_ends(self, claim: Claim) -> None: ...


def worker_name() -> str:
    """Who holds a lease: readable for people, unique even when a process id comes again."""
    return f"{machine.name()}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why a step cannot be executed now, and what a person is asked about it, if anything."""

    outcome: Outcome
    asks: Question | None = None


def advance_run(run_pk: int) -> None:
    """Go on with a run until it parks; another worker may have it already."""
    if draining.is_asked():
        queue.enqueue(Job.ADVANCE_RUN, run_pk)  # it was on its way when the order came
        return
    worker = worker_name()
    try:
        claim = engine.claim(run_pk, worker)
    except OUT_OF_REACH:
        settling.give_back(worker)  # the claim may have been written and its answer lost
        raise
    log_context.note_run(claim.run.run_id if claim else "")
    drive(claim)


def drive(claim: Claim | None, observer: Observer | None = None) -> None:
    """Execute and settle until there is nothing for this worker to do."""
    watching = observer or Nobody()
    packages = Packages()
    while claim:
        try:
            place = placing.look(claim)
            if isinstance(place, placing.Elsewhere):
                placing.hand_on(claim, place.host)
                return
        except OUT_OF_REACH:
            settling.give_back(claim.attempt.worker)
            return
        watching.step_begins(claim)
        # Gathering the context may take as long as a lease lasts, and so may settling.
        with Lease(claim, watching.line) as lease:
            following = _done(claim, place, lease, packages)
        watching.step_ends(claim)
        claim = following


def _done(
    claim: Claim, place: placing.Nowhere | None, lease: Lease, packages: Packages
) -> Claim | None:
    """Execute and settle one step; whoever cannot begin gives it back."""
    try:
        prepared = _prepared(claim, place, lease, packages)
    except OUT_OF_REACH:
        settling.give_back(claim.attempt.worker)
        return None
    outcome, found, asks = prepared()
    if outcome.ended == "stopped" and not lease.should_stop():
        # Ended here before somebody else could begin; it may be that nobody has.
        settling.give_back(claim.attempt.worker)
        return None
    settlement = engine.settlement(claim, outcome, found, asks=asks)
    following = settling.settle(claim, settlement, packages.ahead)
    telling.step_ended(claim.run, claim.attempt, outcome)
    return following


def briefing_of(claim: Claim, packages: Packages | None = None) -> Json | Hindrance:
    """What the executor of a step is told, or why there is nothing to tell; kept either way."""
    if hindered := _without_folder(claim):
        return hindered
    if lacking := unfit(claim):
        refused = results.failure("Could not fill in the step's arguments.", errors=lacking)
        return Hindrance(outcome=Outcome(result=refused))
    package = (packages or Packages()).package_of(claim)
    _call_by_issue(claim.run, given(package, "issue", dict))
    if trouble := context.trouble_in(package):
        question = gates.on_context(claim.unit, trouble.source, trouble.message)
        return Hindrance(outcome=Outcome(result=_needs_word(question)), asks=question)
    return whole_briefing(claim, package)


def _call_by_issue(run: Run, issue: Json) -> None:
    """An issue's title is the best name a run can have, and may be edited while it goes on."""
    title = titles.cleaned(str(issue.get("title") or ""), concealed)
    if title and title != run.own_title:
        run.own_title = title
        update(Run, {"id": run.pk}, {"own_title": title})


def filled_unit(claim: Claim) -> Unit:
    return claim.unit.model_copy(update={"step": _filled(claim.unit.step, known_to(claim))})


def order_again(claim: Claim, package: Json) -> tuple[Order, Rules]:
    """What an attempt's executor was given with this package, whatever was made since."""
    step = _filled(claim.unit.step, known_to(claim, _made(package)))
    unit = claim.unit.model_copy(update={"step": step})
    return _order(claim, unit, whole_briefing(claim, package)), _rules(claim.run)


Performed = tuple[Outcome, tuple[artifacts.FoundFile, ...], Question | None]


def _prepared(
    claim: Claim, place: placing.Nowhere | None, lease: Lease, packages: Packages
) -> Callable[[], Performed]:
    """The work of one step, with everything read that it needs: the work itself asks nobody."""
    if place is not None:
        question = gates.on_folder(claim.unit, place.why)
        return _ready(Outcome(result=_needs_word(question)), asks=question)
    if claim.unit.document is not None:
        return _ready(_document_outcome(claim, claim.unit.document))
    if claim.attempt.handed_in is not None:
        handed_in = HandedIn.read(claim.attempt.handed_in)
        return lambda: (*weighed(claim, handed_in, lease), None)
    briefed = _unwritten(claim) or briefing_of(claim, packages)
    if isinstance(briefed, Hindrance):
        return _ready(briefed.outcome, asks=briefed.asks)
    unit = filled_unit(claim)
    search = _place(claim, unit, briefed, lease)
    evidence.note_baseline(claim.attempt, unit, search.folder)
    is_shared = placing.has_others()
    return lambda: _perform(claim, unit, search, is_shared=is_shared)


def _unwritten(claim: Claim) -> Hindrance | None:
    """Put an approver's edits into the folder; why that cannot be done, if it cannot."""
    edits = given(claim.attempt.feedback or {}, "edits", list)
    if not edits or claim.unit.step.remote:
        return None
    try:
        edited.write(claim.run, edits)
    except OSError as error:
        why = f"Could not write the approved edits: {error.strerror or error}."
        return Hindrance(outcome=Outcome(result=results.failure(why)))
    return None


def _ready(outcome: Outcome, *, asks: Question | None = None) -> Callable[[], Performed]:
    return lambda: (outcome, (), asks)


def _perform(
    claim: Claim, unit: Unit, place: evidence.SearchPlace, *, is_shared: bool
) -> Performed:
    """Do the work of one step: nothing here is inside a transaction."""
    began = timezone.now()
    outcome = execute(place.order, place.rules, place.watcher)
    if unit.step.is_for_agent:
        telling.agent_ended(claim.run, claim.attempt, outcome, began=began)
    placing.note_commit(claim.run, is_shared=is_shared)
    claim.attempt.left_at = forked.left_by_step(claim.run)
    found = _collect(place.folder, unit, outcome.result)
    return *evidence.weigh(claim, unit, outcome, found, place), None


def note_baseline(claim: Claim) -> None:
    evidence.note_baseline(claim.attempt, filled_unit(claim), claim.run.folder)


def is_here(claim: Claim) -> bool:
    """Whether an executor outside may have worked in a folder of this machine."""
    folder = claim.run.folder
    return folder.is_dir() and folder != places.own_place(claim.run.project.name)


def weighed(
    claim: Claim, what: HandedIn, watcher: Watcher
) -> tuple[Outcome, tuple[artifacts.FoundFile, ...]]:
    """Look for the evidence of a step that was executed outside; nothing of it is executed here."""
    unit = filled_unit(claim)
    place = replace(_place(claim, unit, {}, watcher), is_here=is_here(claim), sent=what.paths)
    outcome = Outcome(result=what.result_of(claim.unit.key))
    found = (*what.files, *what.lacking(unit, outcome.result))
    return evidence.weigh(claim, unit, outcome, found, place)


def _place(claim: Claim, unit: Unit, briefed: Json, watcher: Watcher) -> evidence.SearchPlace:
    return evidence.SearchPlace(
        order=_order(claim, unit, briefed), rules=_rules(claim.run), watcher=watcher
    )


def _needs_word(question: Question) -> Result:
    """The step's result while a person is asked: it is not done, and nothing of it went wrong."""
    pending = {"reason": question.prompt, "questions_presented": True}
    return Result(status=ResultStatus.PENDING_INPUT, message=question.prompt, pending_input=pending)


def _collect(workspace: Path, unit: Unit, result: Result) -> tuple[artifacts.FoundFile, ...]:
    done = result.status in (ResultStatus.SUCCESS, ResultStatus.WARNING)
    found = artifacts.collect(workspace, unit, result) if done else ()
    return (*found, *pictures.beside(workspace, found))


def _made(package: Json) -> Json:
    """What steps had made by the time the package was gathered; by now there may be more."""
    return given(given(package, "state", dict), "artifacts", dict)


def _filled(step: Step, known: dict[str, object]) -> Step:
    # Split before filling: a value with spaces or quotes stays one argument.
    return step.model_copy(
        update={
            "run": step.run and commands.fill_words(step.argv, known),
            "prompt": step.prompt and fill_text(step.prompt, known),
            "artifact": step.artifact and fill_text(step.artifact, known),
            "evidence": filled(step.evidence, known),
        }
    )


def whole_briefing(claim: Claim, package: Json) -> Json:
    """The whole briefing of an attempt: the same package tells the same, however late."""
    run, attempt, unit = claim.run, claim.attempt, claim.unit
    arguments, _ = fill_arguments(unit.step.arguments, known_to(claim, _made(package)))
    return {
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "phase": unit.phase.value,
        "step": unit.step.id,
        "attempt": attempt.number,
        "action": attempt.action,
        "instruction": briefing.instruction(run.run_id, unit, attempt.feedback),
        "arguments": arguments,
        "plan": briefing.plan_marks(run.frozen_plan, briefing.done_in(package)),
        "feedback": briefing.feedback_for_executor(attempt.feedback),
        "failure_context": attempt.failure_context,
        "context": {**briefing.context_for_executor(package), **briefing.lock(package)},
    }


def _order(claim: Claim, unit: Unit, briefed: Json) -> Order:
    order = Order(
        step=unit.step,
        key=unit.key,
        briefing=briefed,
        workspace=claim.run.folder,
        environment={
            "FABER_RUN_ID": claim.run.run_id,
            "FABER_PHASE": unit.phase.value,
            "FABER_STEP": unit.step.id,
            "FABER_ATTEMPT": str(claim.attempt.number),
            **telling.environment(claim.run, claim.attempt, for_agent=unit.step.is_for_agent),
            **values_given(claim.run),
        },
        timeout=unit.step.timeout or settings.FABER_STEP_TIMEOUT,
        kept=worktrees.needed_by(claim.run),
    )
    return _in_session(order, claim) if unit.step.is_for_agent else order


def _in_session(order: Order, claim: Claim) -> Order:
    kind = kind_for(order.step, _rules(claim.run))
    session, counted = sessions.of_step(claim.attempt, kind), sessions.counted(claim.run)
    return replace(order, session=session, counted=counted)


def values_given(run: Run) -> dict[str, str]:
    """What the run was started with, for scripts: no value can become a part of them there."""
    inputs = {f"FABER_INPUT_{_variable(name)}": value for name, value in run.inputs.items()}
    named = {"FABER_TARGET": run.target, "FABER_WORK_ID": run.work_id, "FABER_PROMPT": run.prompt}
    values = {name: as_text(value).replace("\0", "") for name, value in (inputs | named).items()}
    # Linux starts no program with a longer one; the briefing has it.
    return {name: value for name, value in values.items() if len(value.encode()) <= LONGEST_VALUE}


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def _rules(run: Run) -> Rules:
    return Rules(
        agent_command=settings.FABER_AGENT_COMMAND,
        project_agent=run.project.agent,
        python_prefixes=settings.FABER_PYTHON_STEPS,
        isolation=hidden.isolation(),
        conceal=concealed,
    )


def _without_folder(claim: Claim) -> Hindrance | None:
    """Why there is no folder to work in; a run's own worktree is made here, if it is not yet."""
    try:
        worktrees.ready(claim.run)
        forked.bring_back(claim.run)
    except worktrees.NotReady as error:
        return Hindrance(outcome=Outcome(result=results.failure(str(error))))
    except OSError as error:
        why = f"Could not write the files that were taken over: {error.strerror or error}."
        return Hindrance(outcome=Outcome(result=results.failure(why)))
    return None


def _document_outcome(claim: Claim, named: str) -> Outcome:
    if hindered := _without_folder(claim):
        return hindered.outcome
    there = (claim.run.folder / named).is_file()
    message = f"{named} added to the context." if there else f"{named} not found."
    return Outcome(result=Result(status=ResultStatus.SUCCESS, message=message))
