"""A filled form as a text: how people write it, and how it stands on record."""

import json
from collections.abc import Container, Mapping, Sequence

from runs.domain.values.errors import Problem
from runs.domain.values.forms.filling import Filled, Value, fill, plain
from runs.domain.values.forms.questions import FormQuestion, is_typed


def read_text(form: Sequence[FormQuestion], text: str) -> Filled:
    """The same for a text: JSON, a line `id: answer` for each, or the answer to the only one."""
    if text.lstrip().startswith("{"):
        try:
            document: object = json.loads(text)
        except ValueError:
            document = None
        # The only question may be answered with a text that looks like JSON.
        if isinstance(document, dict) and (len(form) > 1 or form[0].id in document):
            return fill(form, document)
    if len(form) > 1:
        return _by_lines(form, text)
    alone = fill(form, {form[0].id: text})
    by_name = _by_lines(form, text) if alone.problems else alone
    return alone if by_name.problems else by_name


def values_in(form: Sequence[FormQuestion], text: str) -> Mapping[str, Value]:
    """The values of an answer on record; none where answers are not held to the form."""
    return read_text(form, text).values if is_typed(form) else {}


def as_text(form: Sequence[FormQuestion], values: Mapping[str, Value]) -> str:
    """Values as people read them on record; `read_text` gives the same values for it."""
    shown = {question: _shown(values[question.id]) for question in form if question.id in values}
    if len(form) == 1:
        return next(iter(shown.values()), "")
    lines = [f"{_label(question, form)}: {text}" for question, text in shown.items()]
    # A further line of an answer stands in, so that it is never taken for the next answer.
    return "\n".join(line.replace("\n", "\n  ") for line in lines)


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _label(question: FormQuestion, form: Sequence[FormQuestion]) -> str:
    """Its text, unless another question has the same or it would not stay on its line."""
    alike = [other for other in form if plain(other.text) == plain(question.text)]
    return question.text if len(alike) == 1 and question.text.isprintable() else question.id


def _by_lines(form: Sequence[FormQuestion], text: str) -> Filled:
    given: dict[str, list[str]] = {}
    now: list[str] = []
    stray = False
    for line in text.replace("\r\n", "\n").split("\n"):
        if found := _named(form, line, known=given):
            question, said = found
            now = given.setdefault(question.id, [])
            now.append(said)
        elif given:
            now.append(line.removeprefix("  "))
        else:
            stray = stray or bool(line.strip())
    if stray:
        ways = ", ".join(f"`{question.id}: …`" for question in form)
        problem = Problem("", f"Write each answer on a line of its own: {ways}")
        return Filled(values={}, problems=(problem,))
    return fill(form, {name: "\n".join(lines) for name, lines in given.items()})


def _named(
    form: Sequence[FormQuestion], line: str, *, known: Container[str]
) -> tuple[FormQuestion, str] | None:
    """The question that a line begins with, by its text, its id or its number; the longest wins."""
    said = line.removeprefix("- ").removeprefix("* ")
    mark = said[: len(said) - len(said.lstrip("`*_"))]  # as in `**format:** CSV`
    said = said.removeprefix(mark)
    names = [
        *((name, one) for one in form for name in (one.text, one.text.rstrip("?"), one.id)),
        # Below an answer "1." may begin a list that belongs to it.
        *((str(n), one) for n, one in enumerate(form, start=1) if one.id not in known),
    ]
    for name, question in sorted(names, key=lambda pair: -len(pair[0])):
        rest = said[len(name) :].removeprefix(mark).lstrip(" ")
        ends = ":=.)" if name.isdecimal() else ":="
        if name and rest[:1] in tuple(ends) and said[: len(name)].casefold() == name.casefold():
            return question, rest[1:].removeprefix(mark).lstrip(" ")
    return None
