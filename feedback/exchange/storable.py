"""Says what in a JSON document no database here could keep."""

import math
from collections.abc import Iterator

from runs.domain.values.errors import Problem
from runs.domain.workflow.problems import place_of

DEEPEST = 120  # a response may be nested a hundred deep, and lies in an event


def unfit(document: object) -> list[Problem]:
    """Everything unfit, each at its place; depth alone ends the search."""
    found: list[Problem] = []
    level: list[tuple[str, object]] = [("", document)]
    for _ in range(DEEPEST):
        found += [Problem(place, said) for place, value in level if (said := _said(value))]
        level = [inner for place, value in level for inner in _inside(place, value)]
        if not level:
            return found
    return [*found, Problem(level[0][0][:80], "is nested too deeply")]


def _inside(place: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield place_of(place, key), item
            yield place_of(place, key), key
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield place_of(place, index), item


def _said(value: object) -> str:
    if isinstance(value, str) and "\0" in value:
        return "contains a NUL character"
    if isinstance(value, float) and not math.isfinite(value):
        return "contains a value that is not a number"
    return ""
