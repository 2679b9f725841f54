"""Reads a workflow from a document, or says everything that is wrong with it."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from runs.domain.values.errors import Invalid, Problem
from runs.domain.workflow.definition import Workflow
from runs.domain.workflow.old_files import tidy
from runs.domain.workflow.problems import Notes, place_of, problems_of
from runs.domain.workflow.rules import check_rules

MAX_DEPTH = 50


class InvalidWorkflow(Invalid):
    """What is wrong with a document, with what is worth saying and what was read of it."""

    def __init__(self, notes: Notes, *, workflow: Workflow | None) -> None:
        super().__init__(notes.problems)
        self.warnings = tuple(notes.warnings)
        self.workflow = workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWorkflow:
    workflow: Workflow
    warnings: tuple[Problem, ...] = ()


def read_workflow(document: object) -> ReadWorkflow:
    """The workflow a document describes; raises Invalid with every problem of the document."""
    if not isinstance(document, dict):
        raise Invalid([Problem("", "a workflow must be an object with an id and phases")])
    if foreign := list(_foreign(document, "", 0)):
        raise Invalid(foreign)
    own: dict[str, object] = json.loads(json.dumps(document), parse_float=_as_databases_write_it)
    notes = Notes()
    tidy(own, notes)
    check_rules(own, notes)
    workflow = _validated(own, notes)
    if workflow is None or notes.problems:
        raise InvalidWorkflow(notes, workflow=workflow)
    return ReadWorkflow(workflow=workflow, warnings=tuple(notes.warnings))


def _as_databases_write_it(text: str) -> float | int:
    """PostgreSQL gives 1e+22 back as a whole number, and no negative zero; hashes must not care."""
    number = float(text)
    return int(number) if abs(number) >= 1e16 else number + 0.0


def _validated(document: dict[str, object], notes: Notes) -> Workflow | None:
    try:
        # JSON is where strict models still take a list for a tuple and a word for an enum.
        return Workflow.model_validate_json(json.dumps(document))
    except ValidationError as error:
        notes.problems[:0] = problems_of(error)
        return None


def _foreign(value: object, place: str, depth: int) -> Iterator[Problem]:
    """What JSON or a database could not keep; nothing else can be checked before it is gone."""
    if depth > MAX_DEPTH:
        yield Problem(place, "is nested too deeply")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not _is_text(key):
                yield Problem(place, f"the key {key!r} must be a string")
            else:
                yield from _foreign(item, place_of(place, key), depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _foreign(item, place_of(place, index), depth + 1)
    elif message := _unkept(value):
        yield Problem(place, message)


def _unkept(value: object) -> str:
    match value:
        case None | bool():
            return ""
        case str():
            return "" if _is_text(value) else "contains an invalid character"
        case float():
            return "" if math.isfinite(value) else "contains a value that is not a number"
        case int():
            # Longer ones cannot be written out again.
            return "" if value.bit_length() <= 64 else "contains a number that is too large"
        case _:
            return f"contains a {type(value).__name__}, which JSON does not support"


def _is_text(value: str) -> bool:
    """No lone surrogates, which cannot be encoded, and no NUL, which PostgreSQL refuses."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
