"""Puts older and fuller workflow files into today's shape, with a warning for each change."""

import re
import shlex
from collections.abc import Iterable
from typing import TypeGuard

from runs.domain.workflow.agents import BY_NAME, HOW_TO_NAME_ONE, kind_of
from runs.domain.workflow.evidence import tidy_evidence
from runs.domain.workflow.problems import Notes, hooks_in, phases_in, place_of, steps_in

AGENT_KEYS = ("prompt", "command", "skill")

_UNUSED_IN_FILE = (
    *("$schema", "prompt", "defaults", "phase_defaults", "critical_artifacts"),
    *("changelog", "validation"),
)
_UNUSED_IN_PHASE = ("validation", "changelog")
_UNUSED_IN_STEP = ("validation", "conditional", "changelog", "step_action", "step_type")
_UNUSED_IN_AUTONOMY = ("description", "overrides")
_CONSEQUENCE = {"conditional": "the step is always executed"}
_LEVEL_ALIASES = {"assisted": "assist", "supervised": "assist"}
_ON_ERROR = {"continue": "continue", "abort": "stop", "retry": "stop"}


def tidy(document: dict[str, object], notes: Notes) -> None:
    """Change the document in place, so that only what a run uses is left to be read."""
    _drop(document, _UNUSED_IN_FILE, "", notes)
    _tidy_autonomy(document.get("autonomy"), notes)
    _tidy_agent(document, "", notes)
    for name, phase in phases_in(document):
        _drop(phase, _UNUSED_IN_PHASE, place_of("phases", name), notes)
    for place, step in steps_in(document):
        _tidy_step(step, place, notes)
    for place, hook in hooks_in(document):
        _tidy_hook(hook, place, notes)


def _drop(holder: dict[str, object], keys: Iterable[str], place: str, notes: Notes) -> None:
    for key in keys:
        if key in holder:
            del holder[key]
            consequence = _CONSEQUENCE.get(key, "ignored")
            notes.warn(place_of(place, key), f"known, but not used here; {consequence}")


def _tidy_autonomy(autonomy: object, notes: Notes) -> None:
    if not isinstance(autonomy, dict):
        return
    _drop(autonomy, _UNUSED_IN_AUTONOMY, "autonomy", notes)
    level = autonomy.get("level")
    if isinstance(level, str) and level in _LEVEL_ALIASES:
        autonomy["level"] = _LEVEL_ALIASES[level]
        notes.warn("autonomy.level", f"{level} is an older name; read as {autonomy['level']}")


def _tidy_step(step: dict[str, object], place: str, notes: Notes) -> None:
    _drop(step, _UNUSED_IN_STEP, place, notes)
    _name_as_id(step, place, notes)
    _split(step, "run", place, notes)
    _description_as_prompt(step, place, notes)
    _tidy_agent(step, place, notes)
    tidy_evidence(step, place, notes)
    if not any(given(step, key) for key in AGENT_KEYS):
        _drop(step, ("config",), place, notes)
    options = step.get("options")
    if isinstance(options, list):
        step["options"] = [
            {"value": option} if isinstance(option, str) else option for option in options
        ]


def given(holder: dict[str, object], key: str) -> bool:
    """Whether the key says anything: a blank text does not."""
    value = holder.get(key)
    return bool(value.strip()) if isinstance(value, str) else value is not None


def ways_to_execute(step: dict[str, object]) -> list[str]:
    ways = [key for key in ("run", *AGENT_KEYS, "python") if given(step, key)]
    return [*ways, "remote"] if step.get("remote") is True else ways


def _name_as_id(step: dict[str, object], place: str, notes: Notes) -> None:
    name = step.get("name")
    if "id" in step or not isinstance(name, str):
        return
    step["id"] = name
    if re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        notes.warn(place_of(place, "id"), f"missing; the name {name} is taken as id")


def _description_as_prompt(step: dict[str, object], place: str, notes: Notes) -> None:
    description = step.get("description")
    if isinstance(description, str) and description.strip() and not ways_to_execute(step):
        step["prompt"] = description
        notes.warn(place, "has nothing to execute; its description becomes the agent's prompt")


def _split(holder: dict[str, object], key: str, place: str, notes: Notes) -> bool:
    """Words are split before placeholders are filled, so that no value can become two words."""
    line = holder.get(key)
    try:
        holder.update({key: shlex.split(line)} if isinstance(line, str) else {})
    except ValueError as error:
        notes.refuse(place_of(place, key), f"cannot be split into words: {str(error).lower()}")
        return False
    return True


def _tidy_agent(holder: dict[str, object], place: str, notes: Notes) -> None:
    """However an agent is named, an object with kind and command stands there afterwards."""
    agent = holder.get("agent")
    if isinstance(agent, str) and agent.strip() in BY_NAME:
        holder["agent"] = {"kind": agent.strip()}
    understood = _split(holder, "agent", place, notes)
    agent, where = holder.get("agent"), place_of(place, "agent")
    if isinstance(agent, dict):
        understood = _tidy_command(agent, where, notes)
    elif _is_command(agent):
        holder["agent"] = {"kind": kind_of(agent), "command": agent}
    elif agent is not None and understood:
        understood = False
        notes.refuse(where, f"must be {HOW_TO_NAME_ONE}")
    if not understood:
        del holder["agent"]  # it is refused already


def _tidy_command(agent: dict[str, object], place: str, notes: Notes) -> bool:
    understood = _split(agent, "command", place, notes)
    command = agent.get("command")
    if _is_command(command):
        agent.setdefault("kind", kind_of(command))
    return understood


def _is_command(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _tidy_hook(hook: dict[str, object], place: str, notes: Notes) -> None:
    handling = hook.get("result_handling")
    if isinstance(handling, dict):
        _hook_handling(hook, handling, place_of(place, "result_handling"), notes)
    if "on_error" in hook:
        _on_error(hook, hook.pop("on_error"), place_of(place, "on_error"), notes)


def _hook_handling(
    hook: dict[str, object], handling: dict[str, object], place: str, notes: Notes
) -> None:
    # A wrong value is left where it is, to be refused at its own place.
    if handling.get("on_failure") in ("stop", "continue"):
        hook.setdefault("on_failure", handling["on_failure"])
    for key in ("on_success", "on_warning", "on_pending_input"):
        if key in handling:
            notes.warn(place_of(place, key), "has no effect on a hook")


def _on_error(hook: dict[str, object], value: object, place: str, notes: Notes) -> None:
    if not isinstance(value, str) or value not in _ON_ERROR:
        notes.refuse(place, f"must be one of {', '.join(_ON_ERROR)}")
        return
    meaning = _ON_ERROR[value]
    hook.setdefault("on_failure", meaning)
    why = "a hook is never retried, " if value == "retry" else ""
    notes.warn(place, f"deprecated; {why}read as on_failure: {meaning}")
