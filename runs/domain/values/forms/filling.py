"""Which answers fit a form: the one rule that every channel holds them to."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from runs.domain.values.errors import Problem
from runs.domain.values.forms.questions import FieldType, FormQuestion
from runs.domain.values.plain_json import quoted

# What is kept of an answer: plain JSON, a date as its ISO text.
Value = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was made of the answers: values by the questions' ids, or what is wrong and where."""

    values: Mapping[str, Value]
    problems: tuple[Problem, ...] = ()


class MisfitError(Exception):
    """An answer does not fit its question."""


def fill(form: Sequence[FormQuestion], answers: Mapping[str, object]) -> Filled:
    """Hold answers, by the questions' ids, to the form: the one rule for every channel."""
    ids = [question.id for question in form]
    values: dict[str, Value] = {}
    problems = [
        Problem(name, f"is not one of the questions: {', '.join(ids)}")
        for name in answers
        if name not in ids
    ]
    for question in form:
        given = answers.get(question.id)
        if _is_empty(given):
            if question.required:
                problems.append(Problem(question.id, "needs an answer"))
            continue
        try:
            values[question.id] = _READERS[question.type](question, given)
        except MisfitError as error:
            problems.append(Problem(question.id, str(error)))
    if not values and not problems:
        problems.append(Problem("", "Answer at least one question."))
    return Filled(values=values, problems=tuple(problems))


def _is_empty(given: object) -> bool:
    return given is None or given == [] or (isinstance(given, str) and not given.strip())


# One reader for each type: the value, or what was expected in its place.


def _text(_question: FormQuestion, given: object) -> Value:
    if not isinstance(given, str):
        raise MisfitError(f"must be a text, not {quoted(given)}")
    return given.replace("\r\n", "\n").strip()


def _number(_question: FormQuestion, given: object) -> Value:
    if isinstance(given, str) and (found := _NUMBER.fullmatch(given.strip())):
        given = float(found[0]) if found["rest"] else int(found[0])
    # A JSON body may hold NaN and numbers that no database keeps.
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < _TOO_LARGE:
        raise MisfitError(f"must be a number, not {quoted(given)}")
    return given


def _boolean(_question: FormQuestion, given: object) -> Value:
    if isinstance(given, bool):
        return given
    word = given.strip().casefold() if isinstance(given, str) else ""
    if word not in _YES | _NO:
        raise MisfitError(f"must be yes or no, not {quoted(given)}")
    return word in _YES


def _date(_question: FormQuestion, given: object) -> Value:
    try:
        if isinstance(given, str) and _DATE.fullmatch(given.strip()):
            return date.fromisoformat(given.strip()).isoformat()
    except ValueError:
        pass  # such as February 30: told like every other text that is no date
    raise MisfitError(f"must be a date such as 2026-11-16, not {quoted(given)}")


def _choice(question: FormQuestion, given: object) -> Value:
    if isinstance(given, str) and (found := _option(question, given)) is not None:
        return found
    raise MisfitError(f"must be one of {', '.join(question.options)}, not {quoted(given)}")


def _multi(question: FormQuestion, given: object) -> Value:
    if isinstance(given, str):
        given = _listed(question, given)
    if not isinstance(given, list):
        raise MisfitError(f"must be a list of {', '.join(question.options)}, not {quoted(given)}")
    chosen = [_choice(question, each) for each in given if not _is_empty(each)]
    return [option for option in question.options if option in chosen]


_READERS: Mapping[FieldType, Callable[[FormQuestion, object], Value]] = {
    FieldType.TEXT: _text,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.DATE: _date,
    FieldType.CHOICE: _choice,
    FieldType.MULTI: _multi,
}
_YES = frozenset({"yes", "y", "true", "on", "1"})
_NO = frozenset({"no", "n", "false", "off", "0"})
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?P<rest>(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?)")
_TOO_LARGE = 10**18
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")


def _listed(question: FormQuestion, text: str) -> list[str]:
    """A list as people write it; an option may hold commas of its own, so the longest wins."""
    pieces = _SEPARATOR.split(text)
    found: list[str] = []
    while pieces:
        sizes = (n for n in range(len(pieces), 1, -1) if _option(question, ",".join(pieces[:n])))
        size = next(sizes, 1)
        found.append(",".join(pieces[:size]))
        pieces = pieces[size:]
    return found


def _option(question: FormQuestion, given: str) -> str | None:
    """By its words, else by its number in the list."""
    word = plain(given)
    for option in question.options:
        if plain(option) == word:
            return option
    is_number = len(word) <= 3 and word.isascii() and word.isdecimal()
    at = int(word) if is_number else 0
    return question.options[at - 1] if 1 <= at <= len(question.options) else None


def plain(text: str) -> str:
    return _SEPARATOR.sub(",", " ".join(text.split())).casefold()
