"""Placeholders: `{name}` stands for a value the run knows, `{{name}}` for the text itself."""

import json
import re
from collections.abc import Mapping

# Doubled braces count only around a name: JSON and template text is full of bare ones.
PLACEHOLDER = re.compile(
    r"\{\{(?P<literal>[A-Za-z_][\w-]*)\}\}|\{(?P<name>[A-Za-z_][\w-]*)\}",
)


def fill_arguments(
    arguments: Mapping[str, object], known: Mapping[str, object]
) -> tuple[dict[str, object], tuple[str, ...]]:
    """The arguments with their placeholders filled, and a sentence per name nobody knows."""
    missing: dict[str, str] = {}
    filled = {key: _fill(value, known, key, missing) for key, value in arguments.items()}
    available = ", ".join(sorted(known)) or "nothing"
    return filled, tuple(
        f"The argument {place} needs {{{name}}}, which is unknown. Available: {available}."
        for name, place in missing.items()
    )


def fill_text(text: str, known: Mapping[str, object]) -> str:
    """The text with what is known filled in; an unknown placeholder stays as written."""
    return PLACEHOLDER.sub(lambda match: _replacement(match, known), text)


def _fill(
    value: object, known: Mapping[str, object], place: str, missing: dict[str, str]
) -> object:
    if isinstance(value, Mapping):
        return {k: _fill(v, known, f"{place}.{k}", missing) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(v, known, f"{place}[{i}]", missing) for i, v in enumerate(value)]
    if not isinstance(value, str):
        return value
    for match in PLACEHOLDER.finditer(value):
        if match["name"] and match["name"] not in known:
            missing.setdefault(match["name"], place)
    whole = PLACEHOLDER.fullmatch(value)
    if whole and whole["name"] in known:
        return known[whole["name"]]
    return fill_text(value, known)


def _replacement(match: re.Match[str], known: Mapping[str, object]) -> str:
    if match["literal"]:
        return f"{{{match['literal']}}}"
    if match["name"] not in known:
        return match[0]
    return as_text(known[match["name"]])


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
