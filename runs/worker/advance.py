"""Executes a run's steps, one after another, until the run parks."""

import os
import secrets
import shlex
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from django.conf import settings

from runs import context, engine
from runs.context import briefing, store
from runs.domain.planning import gates
from runs.domain.responses import results
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.plain_json import given
from runs.domain.values.questions import Question
from runs.domain.workflow.definition import Step
from runs.domain.workflow.evidence import filled
from runs.domain.workflow.placeholders import fill_arguments, fill_text
from runs.domain.workflow.plan import Unit
from runs.engine import Claim, artifacts
from runs.engine.artifacts import FoundFile
from runs.executors import Order, Outcome, Rules, Watcher, execute
from runs.executors.agents import kind_for
from runs.models import Run, StepAttempt
from runs.record import state_json
from runs.worker import evidence
from runs.worker.lease import Lease
from runs.workspaces import worktrees

Json = dict[str, object]


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
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why a step cannot be executed now, and what a person is asked about it, if anything."""

    outcome: Outcome
    asks: Question | None = None


def advance_run(run_pk: int) -> None:
    """Go on with a run until it parks; another worker may have it already."""
    drive(engine.claim(run_pk, worker_name()))


def drive(claim: Claim | None, observer: Observer | None = None) -> None:
    """Execute and settle until there is nothing for this worker to do."""
    watching = observer or Nobody()
    memory = context.Memory()
    while claim:
        watching.step_begins(claim)
        outcome, found, asks = _perform(claim, watching, memory)
        following = engine.settle(claim, outcome, found, asks=asks)
        watching.step_ends(claim)
        claim = following


def briefing_of(claim: Claim, memory: context.Memory | None = None) -> Json | Hindrance:
    """What the executor of a step is told, or why there is nothing to tell; kept either way."""
    if hindered := _without_folder(claim):
        return hindered
    _, missing = fill_arguments(claim.unit.step.arguments, _known(claim))
    if missing:
        refused = results.failure("The step's arguments cannot be filled in.", errors=missing)
        return Hindrance(outcome=Outcome(result=refused))
    known = state_json.read_for_step(claim.run)
    package = context.reconstitute(known, attempt=claim.attempt, memory=memory)
    store.store(claim.attempt, package)
    if trouble := context.trouble_in(package):
        question = gates.on_context(claim.unit, trouble.source, trouble.message)
        return Hindrance(outcome=Outcome(result=_needs_word(question)), asks=question)
    return whole_briefing(claim, package)


def filled_unit(claim: Claim) -> Unit:
    return claim.unit.model_copy(update={"step": _filled(claim.unit.step, _known(claim))})


def order_again(claim: Claim, package: Json) -> tuple[Order, Rules]:
    """What an attempt's executor was given with this package, whatever was made since."""
    step = _filled(claim.unit.step, _known(claim, _made(package)))
    unit = claim.unit.model_copy(update={"step": step})
    return _order(claim, unit, whole_briefing(claim, package)), _rules(claim.run)


Performed = tuple[Outcome, tuple[artifacts.FoundFile, ...], Question | None]


def _perform(claim: Claim, observer: Observer, memory: context.Memory) -> Performed:
    """Do the work of one step: nothing here is inside a transaction."""
    # Gathering the context may take as long as a lease lasts, so it is renewed from here on.
    with Lease(claim.attempt, observer.line) as lease:
        if claim.unit.document is not None:
            return _document_outcome(claim, claim.unit.document), (), None
        briefed = briefing_of(claim, memory)
        if isinstance(briefed, Hindrance):
            return briefed.outcome, (), briefed.asks
        unit = filled_unit(claim)
        place = _place(claim, unit, briefed, lease)
        evidence.note_baseline(claim.attempt, unit, place.folder)
        outcome = execute(place.order, place.rules, lease)
        found = _collect(place.folder, unit, outcome.result)
        return *evidence.weigh(claim, unit, outcome, found, place), None


def note_baseline(claim: Claim) -> None:
    evidence.note_baseline(claim.attempt, filled_unit(claim), claim.run.folder)


def weigh(
    claim: Claim,
    outcome: Outcome,
    found: tuple[FoundFile, ...],
    watcher: Watcher,
    *,
    is_here: bool,
    sent: frozenset[str],
) -> tuple[Outcome, tuple[FoundFile, ...]]:
    """Look for the evidence of a step that was executed outside."""
    unit = filled_unit(claim)
    place = replace(_place(claim, unit, {}, watcher), is_here=is_here, sent=sent)
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
    return artifacts.collect(workspace, unit, result) if done else ()


def _known(claim: Claim, made: Json | None = None) -> Json:
    """The names that placeholders may use."""
    run = claim.run
    return {
        **run.inputs,
        **(run.artifacts if made is None else made),
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "target": run.target or None,
        "project": run.project.name,
        "workflow_id": run.workflow_id,
        "workspace": str(run.folder),
        "phase": claim.unit.phase.value,
        "step": claim.unit.step.id,
        "attempt": claim.attempt.number,
        "additional_instructions": run.prompt or None,
    }


def _made(package: Json) -> Json:
    """What steps had made by the time the package was gathered; by now there may be more."""
    return given(given(package, "state", dict), "artifacts", dict)


def _filled(step: Step, known: dict[str, object]) -> Step:
    # Split before filling: a value with spaces or quotes stays one argument.
    argv = shlex.split(step.run) if isinstance(step.run, str) else step.run
    return step.model_copy(
        update={
            "run": argv and tuple(fill_text(word, known) for word in argv),
            "prompt": step.prompt and fill_text(step.prompt, known),
            "artifact": step.artifact and fill_text(step.artifact, known),
            "evidence": filled(step.evidence, known),
        }
    )


def whole_briefing(claim: Claim, package: Json) -> Json:
    """The whole briefing of an attempt: the same package tells the same, however late."""
    run, attempt, unit = claim.run, claim.attempt, claim.unit
    arguments, _ = fill_arguments(unit.step.arguments, _known(claim, _made(package)))
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
    return Order(
        step=unit.step,
        key=unit.key,
        briefing=briefed,
        workspace=claim.run.folder,
        environment={
            "FABER_RUN_ID": claim.run.run_id,
            "FABER_PHASE": unit.phase.value,
            "FABER_STEP": unit.step.id,
            "FABER_ATTEMPT": str(claim.attempt.number),
        },
        timeout=unit.step.timeout or settings.FABER_STEP_TIMEOUT,
        session=_session(claim, unit),
    )


def _session(claim: Claim, unit: Unit) -> str:
    """Where an agent of this kind executed the step before, so that it can go on there."""
    attempt = claim.attempt
    if attempt.number == 1 or not unit.step.is_for_agent:
        return ""
    kind = kind_for(unit.step, _rules(claim.run))
    before = StepAttempt.objects.filter(
        run=claim.run, phase=attempt.phase, step=attempt.step, number__lt=attempt.number
    )
    sessions = before.exclude(session="").order_by("-number").values_list("session", "usage")
    return next((session for session, usage in sessions if (usage or {}).get("agent") == kind), "")


def _rules(run: Run) -> Rules:
    return Rules(
        agent_command=settings.FABER_AGENT_COMMAND,
        project_agent=run.project.agent,
        python_prefixes=settings.FABER_PYTHON_STEPS,
    )


def _without_folder(claim: Claim) -> Hindrance | None:
    """Why there is no folder to work in; a run's own worktree is made here, if it is not yet."""
    try:
        worktrees.ready(claim.run)
    except worktrees.NotReady as error:
        return Hindrance(outcome=Outcome(result=results.failure(str(error))))
    return None


def _document_outcome(claim: Claim, named: str) -> Outcome:
    if hindered := _without_folder(claim):
        return hindered.outcome
    there = (claim.run.folder / named).is_file()
    message = f"{named} is added to the context." if there else f"{named} is not there."
    return Outcome(result=Result(status=ResultStatus.SUCCESS, message=message))
