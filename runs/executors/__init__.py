"""Executes one step in one of the ways a workflow may name; no Django, and no step raises here."""

from runs.executors.agents import run_agent
from runs.executors.command import run_command
from runs.executors.orders import Order, Outcome, Rules, Watcher
from runs.executors.python import call_function


def execute(order: Order, rules: Rules, watcher: Watcher) -> Outcome:
    """Carry out the order; only a remote step, which others fetch, is refused."""
    step = order.step
    if step.remote:
        raise ValueError(f"{order.key} is a remote step: somebody outside executes it")
    if step.run is not None:
        return run_command(order, rules, watcher)
    if step.python is not None:
        return call_function(order, rules, watcher)
    return run_agent(order, rules, watcher)


__all__ = ["Order", "Outcome", "Rules", "Watcher", "execute"]
