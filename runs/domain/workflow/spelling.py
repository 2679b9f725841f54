"""Whether placeholders name something that a run will know; a misspelt one is found before it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runs.domain.values.errors import Problem
from runs.domain.workflow.definition import Step
from runs.domain.workflow.placeholders import PLACEHOLDER
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import did_you_mean, place_of
from runs.domain.workflow.reviewers import placed

# What every run knows; inputs come on top.
OF_A_RUN = (
    *("run_id", "work_id", "target", "project", "workflow_id", "workspace"),
    *("phase", "step", "attempt", "additional_instructions"),
)
# The keys of a response's details that become the run's artifacts, for later steps.
OF_STEPS = ("spec_path", "branch_name", "pr_url", "pr_number", "artifact_path")
KNOWN = frozenset((*OF_A_RUN, *OF_STEPS))


class _Text(NamedTuple):
    """What is filled in when a step is executed."""

    place: str
    text: str
    is_free: bool = False  # words for a program or an agent, which may hold braces of its own


def warnings_in(plan: Plan) -> Iterator[Problem]:
    """Every placeholder that only an input could fill, or that is nearly one of the known."""
    for place, unit in placed(plan):
        for each in _texts(unit.step):
            for name in dict.fromkeys(_unknown_in(each.text)):
                if wrong := _doubt(name, is_free=each.is_free):
                    yield Problem(place_of(place, each.place), wrong)


def _doubt(name: str, *, is_free: bool) -> str:
    unknown = f"{{{name}}} is not known to a run"
    if near := did_you_mean(name, KNOWN):
        return unknown + near
    return "" if is_free else f"{unknown} unless it is started with --input {name}=VALUE"


def _unknown_in(text: str) -> Iterator[str]:
    for match in PLACEHOLDER.finditer(text):
        if match["name"] and match["name"] not in KNOWN:
            yield match["name"]


def _texts(step: Step) -> Iterator[_Text]:
    yield from (_Text(at, text) for at, text in _inside({"arguments": step.arguments}))
    # As it was written: what cannot be split into words is refused, and still looked through.
    run = step.run if isinstance(step.run, str) else " ".join(step.run or ())
    yield _Text("run", run, is_free=True)
    yield _Text("prompt", step.prompt or "", is_free=True)
    yield _Text("artifact", step.artifact or "")
    yield _Text("question", step.question or "")
    for index, piece in enumerate(step.evidence):
        place = place_of("evidence", index)
        yield _Text(place, piece.artifact or piece.file or "")
        yield _Text(place, " ".join(piece.command or ()), is_free=True)


def _inside(value: object) -> Iterator[tuple[str, str]]:
    """Each text in a value, with its place there."""
    if isinstance(value, str):
        yield "", value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from ((_below(key, at), text) for at, text in _inside(inner))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from ((_below(index, at), text) for at, text in _inside(inner))


def _below(key: str | int, place: str) -> str:
    held = place_of(key)
    return held + place if place.startswith("[") else place_of(held, place)
