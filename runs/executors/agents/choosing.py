"""Finds out which agent executes a step: the workflow's, else the project's, else the site's."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runs.domain.workflow import agents
from runs.domain.workflow.agents import Kind
from runs.domain.workflow.definition import Agent, Step
from runs.executors.orders import Rules

SITE = "FABER_AGENT_COMMAND"
PROJECT = "the project's agent"
WORKFLOW = "the workflow's agent"

# What is started when only the kind is named, and nobody gave a command of that kind.
_DEFAULTS: dict[Kind, tuple[str, ...]] = {
    "claude": ("claude", "-p", "--output-format", "json"),
    "codex": ("codex", "exec", "--json"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    kind: Kind
    command: tuple[str, ...]
    named_by: str  # where a person can change it


def choose(step: Step, rules: Rules) -> Chosen:
    """The nearest agent that is named; raises ValueError with a sentence when there is none."""
    kind: Kind | None = None
    named_by = ""
    for agent, source in _named(step, rules):
        if kind is None:
            kind, named_by = agent.kind, source
        # A kind without a command takes the flags that project or site give that kind.
        if agent.kind == kind and agent.command:
            return Chosen(kind=kind, command=agent.command, named_by=source)
    if kind is None:
        raise ValueError(f"No agent configured: {SITE} is empty. Set it to a command.")
    if kind not in _DEFAULTS:
        raise ValueError(f"No agent configured: {named_by} has no command. Set one.")
    return Chosen(kind=kind, command=_DEFAULTS[kind], named_by=named_by)


def missing(chosen: Chosen, workspace: Path) -> str:
    """A sentence for whoever can install the agent's program; empty when it is there."""
    program = chosen.command[0] if chosen.command else ""
    # A path is looked up where the program starts, which is not where this process stands.
    place = str(workspace / program) if "/" in program else program
    if shutil.which(place, path=os.environ.get("PATH", os.defpath)):
        return ""
    otherwise = f"set {SITE}" if chosen.named_by == SITE else f"change {chosen.named_by}"
    return f"Agent `{program}` is not installed. Install it or {otherwise}."


def missing_for(steps: Iterable[Step], rules: Rules, workspace: Path) -> list[str]:
    """The same for all agents that these steps would be given to, each once."""
    told: dict[str, None] = {}
    for step in steps:
        if step.is_for_agent:
            try:
                told[missing(choose(step, rules), workspace)] = None
            except ValueError as error:
                told[str(error)] = None
    return [sentence for sentence in told if sentence]


def kind_for(step: Step, rules: Rules) -> str:
    """What kind of agent would execute the step; empty when there is none."""
    try:
        return choose(step, rules).kind
    except ValueError:
        return ""


def _named(step: Step, rules: Rules) -> Iterator[tuple[Agent, str]]:
    if step.agent:
        yield step.agent, WORKFLOW
    try:
        if project := agents.named(rules.project_agent):
            yield project, PROJECT
    except ValueError as error:
        raise ValueError(
            f"No agent configured: {PROJECT} is not a valid command: {error}."
        ) from error
    if site := rules.agent_command:
        yield Agent(kind=agents.kind_of(site), command=site), SITE
