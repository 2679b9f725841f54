"""The page about the keys of a workflow file, from the models that read it."""

from collections.abc import Iterator, Mapping
from typing import Any

from faber_site.references.markdown import code, sentences, table
from runs.domain.workflow import definition
from runs.domain.workflow.definition import Value

_HEAD = """\
# Workflow keys

Every key of a workflow file with its values and default. [Writing a workflow](workflows.md)
explains them with examples. `faber validate FILE` refuses unknown keys and wrong values, with their
location.

"""
_PARTS: Mapping[str, type[Value]] = {
    "File": definition.Workflow,
    "Phase": definition.WorkflowPhase,
    "Step": definition.Step,
    "Option": definition.StepOption,
    "Evidence": definition.Evidence,
    "Result handling": definition.ResultHandling,
    "Autonomy": definition.Autonomy,
    "Limits": definition.Limits,
    "Escalation": definition.Escalation,
    "Agent": definition.Agent,
    "Budget": definition.Budget,
    "Hook": definition.Hook,
}
_TITLES = {model.__name__: title for title, model in _PARTS.items()}
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "object",
    "null": "",
}


def page() -> str:
    return _HEAD + "\n".join(
        f"## {title}\n\n{table(('key', 'value', 'default', 'meaning'), _rows(model))}"
        for title, model in _PARTS.items()
    )


def _rows(model: type[Value]) -> Iterator[tuple[str, str, str, str]]:
    schema, meaning = model.model_json_schema(), sentences(model)
    inner = {name: part for name, part in schema.get("$defs", {}).items() if "enum" in part}
    required = schema.get("required", ())
    for name, key in schema["properties"].items():
        default = "required" if name in required else _default(key.get("default"))
        yield code(name), _values(key, inner), default, meaning[name]


def _default(value: object) -> str:
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(value) if isinstance(value, str | int) and value != "" else ""


def _values(key: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    """What may stand there, in a few words."""
    if several := key.get("anyOf"):
        return " or ".join(filter(None, (_values(each, inner) for each in several)))
    if named := key.get("$ref", "").rpartition("/")[2]:
        return _values(inner[named], inner) if named in inner else _linked(named)
    if items := key.get("items"):
        return f"list of {_values(items, inner)}"
    if allowed := key.get("enum", [key["const"]] if "const" in key else []):
        return ", ".join(code(str(each).lower()) for each in allowed)
    of = key.get("additionalProperties")
    if isinstance(of, Mapping) and not of.get("$ref", "").endswith("/JsonValue"):
        return f"by name: {_values(of, inner)}"
    return _plain(key)


def _plain(key: Mapping[str, Any]) -> str:
    kind = _TYPES[key["type"]]
    least, most = key.get("minimum"), key.get("maximum")
    if least is None:
        return kind
    return f"{kind}, {least:,} to {most:,}" if most is not None else f"{kind} from {least:,}"


def _linked(model: str) -> str:
    title = _TITLES[model]
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
