"""The rules of a skill response as a JSON Schema, for whoever writes a skill elsewhere.

It accepts what `validate-response` accepts, as far as a schema can say it: what is only worth a
warning there passes here. The schema that agents are held to is `schema`, which is simpler.
"""

from collections.abc import Mapping

from runs.domain.responses.legacy import NEW_NAMES
from runs.domain.responses.rules import (
    ITEM_TEXT,
    KINDS,
    LONGEST,
    PENDING_KINDS,
    QUESTION_KINDS,
    ResultStatus,
)
from runs.domain.responses.severity import Severity
from runs.domain.values.forms.questions import FieldType

Json = dict[str, object]

_TYPES = {str: "string", list: "array", dict: "object", bool: "boolean"}
_SAYS_SOMETHING = r"\S"
_TEXT: Json = {"type": "string", "pattern": _SAYS_SOMETHING}
# In an old response an empty text says "none of these"; one of spaces says nothing at all.
_OLD_TEXT: Json = {"pattern": rf"^$|{_SAYS_SOMETHING}"}

_ABOUT: Mapping[str, str] = {
    "status": "How it ended; any error makes it a failure.",
    "message": "One or two sentences for people: what happened.",
    "details": "Anything else: paths, numbers, URLs.",
    "errors": "What went wrong, each in a sentence.",
    "warnings": "What deserves a look, each in a sentence.",
    "error_analysis": "Why it went wrong.",
    "warning_analysis": "What the warnings mean.",
    "suggested_fixes": "What to do about it, the most promising first.",
    "pending_input": "Questions a person must answer before the step can finish.",
}


def _schema() -> Json:
    today = {key: _field(key, kind) for key, kind in KINDS.items()}
    status: Json = {"enum": [*ResultStatus, "error"], "description": _ABOUT["status"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "FABER skill response",
        "description": "The result of a step. A missing message is a warning.",
        "type": "object",
        "properties": {"status": status, **today, **_deprecated()},
        "anyOf": [{"required": ["status"]}, {"required": ["success"]}],
        "additionalProperties": False,
        "if": {
            "properties": {"status": {"const": ResultStatus.PENDING_INPUT.value}},
            "required": ["status"],
        },
        "then": {
            "properties": {"pending_input": _ASKS_SOMETHING},
            "required": ["pending_input"],
        },
    }


_ASKS_SOMETHING: Json = {
    "anyOf": [
        {
            "properties": {"questions_presented": {"const": True}},
            "required": ["questions_presented"],
        },
        {"properties": {"questions": {"minItems": 1}}, "required": ["questions"]},
    ]
}


def _field(key: str, kind: type) -> Json:
    field: Json = {"type": _TYPES[kind], "description": _ABOUT[key]}
    if key in LONGEST:
        field["maxLength"] = LONGEST[key]
    if key in ITEM_TEXT:
        field["items"] = {"anyOf": [_TEXT, _item(ITEM_TEXT[key])]}
    if key == "pending_input":
        field["properties"] = {
            name: {"type": _TYPES[kind]} for name, kind in PENDING_KINDS.items()
        } | {"questions": {"type": "array", "items": {"anyOf": [_TEXT, _question()]}}}
    return field


def _item(text: str) -> Json:
    return {
        "type": "object",
        "properties": {text: _TEXT, "severity": {"enum": list(Severity)}},
        "required": [text],
    }


def _question() -> Json:
    known: dict[str, Json] = {name: {"type": _TYPES[kind]} for name, kind in QUESTION_KINDS.items()}
    known |= {
        "question": _TEXT,
        "type": {"enum": list(FieldType), "description": _ABOUT_TYPES},
        "options": {"type": "array", "items": _TEXT},
    }
    return {
        "type": "object",
        "properties": known,
        "required": ["question"],
        "allOf": [_only_with(choosing=True), _only_with(choosing=False)],
    }


_ABOUT_TYPES = "What an answer must be; without a type any text is one."


def _only_with(*, choosing: bool) -> Json:
    """A choice needs options, and nothing else has any."""
    types = [kind for kind in FieldType if kind.has_options is choosing]
    told: Json = {"required": ["options"]} if choosing else {}
    length = {"minItems": 1} if choosing else {"maxItems": 0}
    return {
        "if": {"properties": {"type": {"enum": types}}, "required": ["type"]},
        "then": {**told, "properties": {"options": length}},
    }


def _deprecated() -> Json:
    """The words of older skills, which are still understood."""
    return {name: _old(name, home) for name, home in NEW_NAMES.items()}


def _old(name: str, home: str) -> Json:
    told = f"Use {home} instead." if home else "It is not used."
    field: Json = {"deprecated": True, "description": told}
    if name == "success":
        return {**field, "type": "boolean"}
    return {**field, **_OLD_TEXT, "items": _OLD_TEXT} if home in ITEM_TEXT else field


SCHEMA = _schema()
