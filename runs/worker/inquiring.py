"""Asks the agent that executed a step about its work; nothing of the step is executed here."""

from dataclasses import replace

from runs import context
from runs.context import store
from runs.domain.responses import results
from runs.domain.values.errors import NotFound
from runs.engine import Claim
from runs.executors.agents import ask_agent, kind_for
from runs.executors.orders import Order, Outcome, Rules, Watcher
from runs.models import StepAttempt
from runs.record import state_json
from runs.worker import advance
from runs.workspaces import worktrees

LONGEST = 900.0  # seconds; whoever asked sits and waits

Json = dict[str, object]


def ask(attempt: StepAttempt, question: str, watcher: Watcher) -> Outcome:
    """Put a question to the agent in the session of its attempt, or with all that it was told."""
    try:
        worktrees.ready(attempt.run)
    except worktrees.NotReady as error:
        return Outcome(result=results.failure(str(error)))
    order, rules = _order_of(attempt)
    return ask_agent(order, rules, watcher, question=question)


def _order_of(attempt: StepAttempt) -> tuple[Order, Rules]:
    run = attempt.run
    claim = Claim(run=run, attempt=attempt, unit=run.frozen_plan.units[attempt.position])
    order, rules = advance.order_again(claim, _package(attempt))
    if not attempt.session or not _is_of_kind(attempt, order, rules):
        order, rules = advance.order_again(claim, _gathered(attempt))
        order = replace(order, session="")
    else:
        order = replace(order, session=attempt.session)
    return replace(order, timeout=min(order.timeout, LONGEST), reads_only=True), rules


def _is_of_kind(attempt: StepAttempt, order: Order, rules: Rules) -> bool:
    """Whether the agent of today would know the session; another may be set by now."""
    return (attempt.usage or {}).get("agent") == kind_for(order.step, rules)


def _gathered(attempt: StepAttempt) -> Json:
    """All there is to know by now, for an agent that remembers nothing."""
    return context.reconstitute(state_json.read_for_step(attempt.run), attempt=attempt)


def _package(attempt: StepAttempt) -> Json:
    """What the attempt was told; nothing where that was pruned."""
    row = attempt.run.packages.filter(attempt=attempt).order_by("id").last()
    try:
        return store.load(row) if row else {}
    except NotFound:
        return {}
