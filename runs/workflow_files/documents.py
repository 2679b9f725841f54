"""Reads one JSON or YAML document from a file, within bounds that keep it harmless."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.domain.workflow.parse import MAX_DEPTH

EXTENSIONS = (".json", ".yaml", ".yml")
MAX_BYTES = 1_000_000

_TEXT = "tag:yaml.org,2002:str"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def read_document(path: Path) -> object:
    """What the file says; raises NotFound, or Invalid with places as line:column."""
    return _parsed(_text(path), is_json=path.suffix == ".json")


def parse_document(content: bytes) -> object:
    """The same of what has no name: an object in braces is JSON, all else YAML."""
    text = _checked(content)
    return _parsed(text, is_json=text.lstrip().startswith("{"))


def _parsed(text: str, *, is_json: bool) -> object:
    try:
        return _from_json(text) if is_json else _from_yaml(text)
    except RecursionError:
        raise Invalid([Problem("", "the file is nested too deeply")]) from None


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise NotFound(f"There is no file {path}.")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror}.") from error
    return _checked(content)


def _checked(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise Invalid([Problem("", "the file is larger than 1 MB")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid([Problem("", "the file is not UTF-8 text")]) from None


def _from_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"{error.lineno}:{error.colno}"
        raise Invalid([Problem(place, f"not valid JSON: {_lower(error.msg)}")]) from None
    except ValueError as error:
        # Numbers with thousands of digits.
        raise Invalid([Problem("", f"not valid JSON: {_lower(str(error))}")]) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Invalid([Problem("", f"the key {twice} appears twice in one object")])
    return found


class _Loader(yaml.CSafeLoader):
    """Safe, and without dates: a date in a workflow is a text like any other."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def _from_yaml(text: str) -> object:
    try:
        # Before anything is built: an alias makes a small file huge, depth overflows the stack.
        if problems := list(_harmful(text)):
            raise Invalid(problems)
        loader = _Loader(text)
        node = loader.get_single_node()
        if problems := list(_odd_keys(node)):
            raise Invalid(problems)
        return loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        message = ", ".join(part for part in (error.context, error.problem) if part)
        place = _mark(error.problem_mark)
        raise Invalid([Problem(place, f"not valid YAML: {message}")]) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Invalid([Problem("", f"not valid YAML: {_lower(str(error))}")]) from None


def _harmful(text: str) -> Iterator[Problem]:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            yield Problem(_mark(event.start_mark), "is nested too deeply")
            return
        if getattr(event, "anchor", None):
            yield Problem(_mark(event.start_mark), "anchors and aliases are not accepted")
        if getattr(event, "tag", None):
            yield Problem(_mark(event.start_mark), "tags are not accepted")


def _odd_keys(node: yaml.Node | None) -> Iterator[Problem]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _odd_keys(item)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if key.tag != _TEXT:
            yield Problem(_mark(key.start_mark), "a key must be text; put it in quotes")
        elif key.value in seen:
            yield Problem(_mark(key.start_mark), f"the key {key.value} appears twice")
        else:
            seen.add(key.value)
        yield from _odd_keys(value)


def _mark(mark: Any) -> str:
    return f"{mark.line + 1}:{mark.column + 1}" if mark else ""


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
