"""Executes a run's steps, one after another, until the run parks."""

import os
import secrets
import shlex
import socket
from pathlib import Path
from typing import Protocol

from django.conf import settings

from runs import artifacts, context, engine, records
from runs.domain import briefing, results, state
from runs.domain.placeholders import fill_arguments, fill_text
from runs.domain.plan import Unit
from runs.domain.results import Result, ResultStatus
from runs.domain.workflow import Step
from runs.engine import Claim
from runs.executors import Order, Outcome, Rules, execute
from runs.lease import Lease
from runs.models import Run


class Observer(Protocol):
    """Somebody who watches a run being driven, such as a terminal."""

    def step_begins(self, claim: Claim) -> None: ...

    def line(self, stream: str, text: str) -> None: ...

    def step_ends(self, claim: Claim, result: Result) -> None: ...


class Nobody:
    def step_begins(self, claim: Claim) -> None: ...

    def line(self, stream: str, text: str) -> None: ...

    def step_ends(self, claim: Claim, result: Result) -> None: ...


def worker_name() -> str:
    """Who holds a lease: readable for people, unique even when a process id comes again."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def drive(claim: Claim | None, observer: Observer | None = None) -> None:
    """Execute and settle until there is nothing for this worker to do."""
    watching = observer or Nobody()
    while claim:
        watching.step_begins(claim)
        outcome, found = _perform(claim, watching)
        watching.step_ends(claim, outcome.result)
        claim = engine.settle(claim, outcome, found)


def briefing_of(claim: Claim) -> tuple[dict[str, object], list[str]]:
    """What an executor outside is told, and which arguments cannot be filled in."""
    arguments, missing = fill_arguments(claim.unit.step.arguments, _known(claim))
    return _briefing(claim, arguments), list(missing)


def filled_unit(claim: Claim) -> Unit:
    return claim.unit.model_copy(update={"step": _filled(claim.unit.step, _known(claim))})


def _perform(claim: Claim, observer: Observer) -> tuple[Outcome, tuple[artifacts.Found, ...]]:
    """Do the work of one step: nothing here is inside a transaction."""
    known = _known(claim)
    arguments, missing = fill_arguments(claim.unit.step.arguments, known)
    if missing:
        refused = results.failure("The step's arguments cannot be filled in.", errors=missing)
        return Outcome(result=refused), ()
    if claim.unit.document is not None:
        return Outcome(result=_document_result(claim.run, claim.unit.document)), ()
    unit = claim.unit.model_copy(update={"step": _filled(claim.unit.step, known)})
    # Gathering the context may take as long as a lease lasts, so it is renewed from here on.
    with Lease(claim.attempt, observer.line) as lease:
        order = _order(claim, unit, _briefing(claim, arguments))
        outcome = execute(order, _rules(), lease)
        found = _collect(Path(claim.run.workspace), unit, outcome.result)
    return outcome, found


def _collect(workspace: Path, unit: Unit, result: Result) -> tuple[artifacts.Found, ...]:
    done = result.status in (ResultStatus.SUCCESS, ResultStatus.WARNING)
    return artifacts.collect(workspace, unit, result) if done else ()


def _known(claim: Claim) -> dict[str, object]:
    """The names that placeholders may use."""
    run = claim.run
    return {
        **run.inputs,
        **run.artifacts,
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "target": run.target or None,
        "project": run.project.name,
        "workflow_id": run.workflow_id,
        "workspace": run.workspace,
        "phase": claim.unit.phase.value,
        "step": claim.unit.step.id,
        "attempt": claim.attempt.number,
        "additional_instructions": run.prompt or None,
    }


def _filled(step: Step, known: dict[str, object]) -> Step:
    # Split before filling: a value with spaces or quotes stays one argument.
    argv = shlex.split(step.run) if isinstance(step.run, str) else step.run
    return step.model_copy(
        update={
            "run": argv and tuple(fill_text(word, known) for word in argv),
            "prompt": step.prompt and fill_text(step.prompt, known),
            "artifact": step.artifact and fill_text(step.artifact, known),
        }
    )


def _briefing(claim: Claim, arguments: dict[str, object]) -> dict[str, object]:
    run, attempt, unit = claim.run, claim.attempt, claim.unit
    known = records.read(run)
    return {
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "phase": unit.phase.value,
        "step": unit.step.id,
        "attempt": attempt.number,
        "action": attempt.action,
        "instruction": briefing.instruction(run.run_id, unit, attempt.feedback),
        "arguments": arguments,
        "plan": briefing.plan_marks(run.frozen_plan, state.done_steps(known.phases)),
        "feedback": briefing.feedback_for_executor(attempt.feedback),
        "failure_context": attempt.failure_context,
        "context": context.reconstitute(known),
    }


def _order(claim: Claim, unit: Unit, told: dict[str, object]) -> Order:
    return Order(
        step=unit.step,
        key=unit.key,
        briefing=told,
        workspace=Path(claim.run.workspace),
        environment={
            "FABER_RUN_ID": claim.run.run_id,
            "FABER_PHASE": unit.phase.value,
            "FABER_STEP": unit.step.id,
            "FABER_ATTEMPT": str(claim.attempt.number),
        },
        timeout=unit.step.timeout or settings.FABER_STEP_TIMEOUT,
    )


def _rules() -> Rules:
    return Rules(
        agent_command=settings.FABER_AGENT_COMMAND, python_prefixes=settings.FABER_PYTHON_STEPS
    )


def _document_result(run: Run, named: str) -> Result:
    there = (Path(run.workspace) / named).is_file()
    message = f"{named} is added to the context." if there else f"{named} is not there."
    return Result(status=ResultStatus.SUCCESS, message=message)
