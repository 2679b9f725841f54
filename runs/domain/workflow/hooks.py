"""Turns the hooks of older files into units at their phase's boundary."""

import re
from collections.abc import Iterator, Sequence

from runs.domain.values.phases import Phase
from runs.domain.workflow.definition import Agent, Hook, HookType, ResultHandling, Step, Workflow
from runs.domain.workflow.plan import Unit

TIMEOUT = 300


def with_hooks(chain: Sequence[Workflow], phase: Phase, steps: Sequence[Unit]) -> tuple[Unit, ...]:
    """The phase's units: pre hooks from the root down, the steps, post hooks back up to it."""
    names = _Names(unit.step.id for unit in steps)
    last = max(0, len(steps) - 1)
    agent = next((workflow.agent for workflow in chain if workflow.agent), None)
    before = [
        _unit(workflow, phase, hook, names.new(f"pre_{phase}", hook), 0, agent)
        for workflow in reversed(chain)
        for hook in workflow.hooks.get(f"pre_{phase}", ())
    ]
    after = [
        _unit(workflow, phase, hook, names.new(f"post_{phase}", hook), last, agent)
        for workflow in chain
        for hook in workflow.hooks.get(f"post_{phase}", ())
    ]
    return (*before, *steps, *after)


class _Names:
    """Hands out ids that nothing else in the phase has: an attempt is found by them."""

    def __init__(self, taken: Iterator[str]) -> None:
        self._taken = set(taken)

    def new(self, boundary: str, hook: Hook) -> str:
        slug = re.sub(r"[^a-z0-9_]+", "-", hook.name.lower()).strip("-")[:60]
        name = wanted = f"{boundary}-{slug or hook.type}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{wanted}-{number}"
        self._taken.add(name)
        return name


def _unit(
    workflow: Workflow, phase: Phase, hook: Hook, name: str, index: int, agent: Agent | None
) -> Unit:
    return Unit(
        phase=phase,
        index=index,
        step=_step(hook, name, agent),
        source=workflow.id,
        position="hook",
        document=hook.path if hook.type is HookType.DOCUMENT else None,
    )


def _step(hook: Hook, name: str, agent: Agent | None) -> Step:
    for_agent = hook.type in (HookType.SKILL, HookType.PROMPT)
    return Step(
        id=name,
        name=hook.name,
        description=hook.description,
        run=_argv(hook.path) if hook.type is HookType.SCRIPT and hook.path else None,
        skill=hook.skill if for_agent else None,
        prompt=hook.prompt if for_agent else None,
        agent=agent if for_agent else None,
        config={**hook.config, **hook.parameters},
        timeout=hook.timeout or TIMEOUT,
        result_handling=ResultHandling(
            on_success="continue",
            on_warning="continue",
            on_failure=hook.on_failure,
            on_pending_input="wait",
        ),
    )


def _argv(path: str) -> tuple[str]:
    # Without a slash the program would be looked for in PATH, not in the workspace.
    return (path if "/" in path else f"./{path}",)
