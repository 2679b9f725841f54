"""Starts the agent a step is for, and once more when it does not know its session any more."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from uuid import NAMESPACE_URL, uuid5

from runs.domain.responses.results import Result, ResultStatus, failure
from runs.domain.workflow.agents import Kind
from runs.executors.agents.adapters import Adapter, Call
from runs.executors.agents.choosing import Chosen, choose, missing
from runs.executors.agents.claude import Claude
from runs.executors.agents.codex import Codex
from runs.executors.agents.plain import Plain
from runs.executors.agents.prompts import ANSWER_ONLY, prompt, question_prompt
from runs.executors.launching import doubted, launch
from runs.executors.orders import Order, Outcome, Rules, Watcher
from runs.executors.process import Finished

ADAPTERS: Mapping[Kind, Adapter] = {"claude": Claude(), "codex": Codex(), "plain": Plain()}

BEGUN_ANEW = "The agent refused the session {session}, so the step started a new one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an agent is launched with, to the letter."""

    argv: tuple[str, ...]
    stdin: str


def run_agent(order: Order, rules: Rules, watcher: Watcher) -> Outcome:
    return _run(order, rules, watcher)


def ask_agent(order: Order, rules: Rules, watcher: Watcher, *, question: str) -> Outcome:
    """Ask the agent of a step about its work; its words are the result's `details.answer`."""
    return _run(order, rules, watcher, question)


def _run(order: Order, rules: Rules, watcher: Watcher, question: str = "") -> Outcome:
    try:
        chosen = choose(order.step, rules)
    except ValueError as error:
        return Outcome(result=failure(str(error)))
    if missing := _missing(chosen, order):
        return Outcome(result=missing)
    call = _asking(order, chosen) if question else _call(order, chosen)
    launched = partial(_launched, chosen, order=order, rules=rules, watcher=watcher)
    outcome = launched(call, question=question)
    session = call.session or call.new_session
    if not session or not ADAPTERS[chosen.kind].refuses_session(outcome):
        return outcome
    note = BEGUN_ANEW.format(session=session)
    watcher.line("stderr", note)
    anew = launched(replace(call, session="", new_session=""), question=question)
    return _noted(anew, note)


def preview(order: Order, rules: Rules) -> Preview:
    """What the step's agent would be launched with; raises ValueError when there is none."""
    chosen = choose(order.step, rules)
    return _prepared(chosen, _call(order, chosen), order)


def _call(order: Order, chosen: Chosen) -> Call:
    adapter = ADAPTERS[chosen.kind]
    names = adapter.names_sessions(chosen.command)
    return Call(
        instruction=str(order.briefing.get("instruction") or ""),
        session=order.session if adapter.takes_sessions(chosen.command) else "",
        new_session=_session_of(order) if names else "",
    )


def _asking(order: Order, chosen: Chosen) -> Call:
    # A session of its own is not named: the step's attempt bears that name.
    return replace(_call(order, chosen), instruction=ANSWER_ONLY, new_session="", only_answers=True)


def _session_of(order: Order) -> str:
    """The same for the same attempt, so that a replay shows it, and another for every other."""
    of_run, attempt = order.environment.get("FABER_RUN_ID"), order.environment.get("FABER_ATTEMPT")
    return str(uuid5(NAMESPACE_URL, f"faber:{of_run}/{order.key}#{attempt}"))


def _prepared(chosen: Chosen, call: Call, order: Order, question: str = "") -> Preview:
    resumed = bool(call.session)
    told = prompt(order, resumed=resumed)
    if question:
        told = question_prompt(order, question, resumed=resumed)
    return Preview(argv=ADAPTERS[chosen.kind].argv(chosen.command, call), stdin=told)


def _launched(
    chosen: Chosen,
    call: Call,
    *,
    question: str,
    order: Order,
    rules: Rules,
    watcher: Watcher,
) -> Outcome:
    adapter, prepared = ADAPTERS[chosen.kind], _prepared(chosen, call, order, question)
    outcome = launch(
        prepared.argv,
        order=replace(order, environment=_environment(adapter, order)),
        rules=rules,
        watcher=watcher,
        feed=prepared.stdin.encode(errors="replace"),
        read=partial(_heard, adapter) if question else partial(_read, adapter, order),
    )
    said = adapter.said(outcome.stdout, order.counted)
    # One that was ended early did not tell its session, and can still be asked on in it.
    session = said.session or call.session or call.new_session
    told = {"agent": PurePath(chosen.command[0]).name, **(said.usage or {})}
    return replace(outcome, session=session, usage=told)


def _environment(adapter: Adapter, order: Order) -> dict[str, str]:
    own = {name: value for name, value in adapter.environment.items() if name not in os.environ}
    return {**own, **order.environment}


def _read(adapter: Adapter, order: Order, finished: Finished) -> Result:
    return doubted(adapter.answer(finished.stdout.text, step=order.key), finished.exit_code)


def _heard(adapter: Adapter, finished: Finished) -> Result:
    """The answer to a question; an agent that ended badly has given none."""
    words = adapter.words(finished.stdout.text)
    if isinstance(words, Result):
        return words
    if finished.exit_code or not words:
        return failure(
            "The agent gave no answer."
            if not finished.exit_code
            else f"The agent exited with code {finished.exit_code}."
        )
    return Result(
        status=ResultStatus.SUCCESS, message="The agent answered.", details={"answer": words}
    )


def _noted(outcome: Outcome, note: str) -> Outcome:
    result = replace(outcome.result, notes=(*outcome.result.notes, note))
    return replace(outcome, result=result, stderr=f"{note}\n{outcome.stderr}")


def _missing(chosen: Chosen, order: Order) -> Result | None:
    """Say what a person needs to know to get the program started, before it is tried in vain."""
    told = missing(chosen, order.workspace) if order.workspace.is_dir() else ""
    if not told:
        return None
    program = chosen.command[0] if chosen.command else ""
    searched = os.environ.get("PATH", os.defpath).split(os.pathsep)
    where = str(order.workspace / program) if "/" in program else ", ".join(searched)
    return failure(
        told,
        errors=[f"Searched: {where}"],
        suggested_fixes=[
            f"Install {program} for the account that runs the worker, "
            f"or set another program in {chosen.named_by}."
        ],
    )
