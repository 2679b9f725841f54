"""Notes taken while a document is read: what is wrong and what is worth saying, and where."""

import difflib
from collections.abc import Iterable, Iterator

from runs.domain.values.errors import Problem

STEP_LISTS = ("pre_steps", "steps", "post_steps")


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
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f"{lead}did you mean {near[0]}?" if near else ""


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
