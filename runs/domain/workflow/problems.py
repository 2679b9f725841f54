"""What is wrong with a document, and what is worth saying: each a sentence at its place."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runs.domain.values.errors import Problem
from runs.domain.values.nearest import nearest
from runs.domain.values.phases import Phase
from runs.domain.workflow.definition import (
    Agent,
    Autonomy,
    Budget,
    Escalation,
    Evidence,
    Hook,
    Limits,
    ResultHandling,
    Step,
    StepOption,
    Workflow,
    WorkflowPhase,
)

STEP_LISTS = ("pre_steps", "steps", "post_steps")
Loc = tuple[str | int, ...]

_MODEL_UNDER: Mapping[str, type[BaseModel]] = {
    **dict.fromkeys(STEP_LISTS, Step),
    "agent": Agent,
    "budget": Budget,
    "escalate": Escalation,
    "evidence": Evidence,
    "options": StepOption,
    "result_handling": ResultHandling,
    "autonomy": Autonomy,
    "limits": Limits,
}
_PATTERNS = {
    "id": "cannot be an id: use lower-case letters, digits, - and _, beginning with a letter",
    "python": "cannot be a function: write module:function",
}


class Notes:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def refuse(self, place: str, message: str) -> None:
        self.problems.append(Problem(place, message))

    def warn(self, place: str, message: str) -> None:
        self.warnings.append(Problem(place, message))


def place_of(*parts: str | int) -> str:
    """The contract's spelling of a place: `phases.build.steps[2].id`."""
    place = ""
    for part in parts:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part:
            place += f".{part}" if place else part
    return place


def did_you_mean(word: object, known: Iterable[str], *, lead: str = ", ") -> str:
    """The end of a sentence that names the nearest known word, or nothing."""
    near = nearest(str(word), known)
    return f"{lead}did you mean {near}?" if near else ""


def phases_in(document: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Every phase of an unread document that is an object, by its name."""
    for name, phase in _items(document.get("phases")):
        if isinstance(phase, dict):
            yield name, phase


def steps_of(name: str, phase: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Every step of an unread phase that is an object, with its place."""
    for key in STEP_LISTS:
        yield from _objects(place_of("phases", name, key), phase.get(key))


def steps_in(document: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    for name, phase in phases_in(document):
        yield from steps_of(name, phase)


def hooks_in(document: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Every hook of an unread document that is an object, with its place."""
    for boundary, hooks in _items(document.get("hooks")):
        yield from _objects(place_of("hooks", boundary), hooks)


def _items(value: object) -> Iterable[tuple[str, object]]:
    return value.items() if isinstance(value, dict) else ()


def _objects(place: str, value: object) -> Iterator[tuple[str, dict[str, object]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield place_of(place, index), item


# What a model refused


def problems_of(error: ValidationError) -> list[Problem]:
    """Every refusal once; the two halves of "text or list" are one refusal."""
    refused = [_problem(detail) for detail in error.errors(include_url=False)]
    return list(dict.fromkeys(refused))


def _problem(detail: ErrorDetails) -> Problem:
    loc = detail["loc"]
    if loc[-1:] == ("[key]",):
        near = did_you_mean(detail["input"], Phase) or f"; the phases are {', '.join(Phase)}"
        return Problem(place_of(*loc[:-1]), f"unknown phase{near}")
    # A union adds the name of its half to the place.
    for half in ("str", "tuple[str, ...]"):
        if half in loc and loc[loc.index(half) - 1] == "run":
            where = place_of(*loc[: loc.index(half)])
            return Problem(where, "must be a string or a list of strings")
    return Problem(place_of(*loc), _sentence(detail))


def _sentence(detail: ErrorDetails) -> str:
    known = _SENTENCES.get(detail["type"])
    # The library's own words are better than none for a refusal nobody thought of.
    return known(detail) if known else detail["msg"]


def _must_be(what: str) -> Callable[[ErrorDetails], str]:
    return lambda detail: f"must be {what}, not {_kind(detail['input'])}"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _unknown_key(detail: ErrorDetails) -> str:
    *holder, key = detail["loc"]
    return f"unknown key{did_you_mean(key, _model_at(tuple(holder)).model_fields)}"


def _model_at(loc: Loc) -> type[BaseModel]:
    names = [part for part in loc if isinstance(part, str)]
    if not names:
        return Workflow
    if names[-1] in _MODEL_UNDER:
        return _MODEL_UNDER[names[-1]]
    return Hook if names[0] == "hooks" else WorkflowPhase


def _accepted(detail: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))


def _choice(detail: ErrorDetails) -> str:
    accepted = _accepted(detail)
    near = did_you_mean(detail["input"], accepted, lead="; ")
    return f"must be one of {', '.join(accepted)}{near}"


def _pattern(detail: ErrorDetails) -> str:
    said = _PATTERNS.get(str(detail["loc"][-1]), "has the wrong format")
    return f"{detail['input']!r} {said}"


def _bound(words: str, limit: str) -> Callable[[ErrorDetails], str]:
    return lambda detail: f"must be {words} {detail['ctx'][limit]}"


_SENTENCES: Mapping[str, Callable[[ErrorDetails], str]] = {
    "missing": lambda _: "missing key",
    "extra_forbidden": _unknown_key,
    "enum": _choice,
    "literal_error": _choice,
    "string_type": _must_be("a string"),
    "bool_type": _must_be("true or false"),
    "int_type": _must_be("a whole number"),
    "int_from_float": _must_be("a whole number"),
    "float_type": _must_be("a number"),
    "tuple_type": _must_be("a list"),
    "dict_type": _must_be("an object"),
    "model_type": _must_be("an object"),
    "string_pattern_mismatch": _pattern,
    "string_too_short": lambda _: "must not be empty",
    "too_short": lambda _: "must not be empty",
    "string_too_long": lambda detail: f"is longer than {detail['ctx']['max_length']} characters",
    "greater_than_equal": _bound("at least", "ge"),
    "less_than_equal": _bound("at most", "le"),
    "value_error": lambda detail: str(detail["ctx"]["error"]),
}
