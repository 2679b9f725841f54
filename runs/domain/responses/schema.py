"""The skill response as a JSON schema, for those who make one."""

from runs.domain.responses.rules import LONGEST, ResultStatus
from runs.domain.values.forms.questions import FieldType

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}

_QUESTION = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "question": _TEXT,
        "type": {"enum": [kind.value for kind in FieldType]},
        "required": {"type": "boolean"},
        "options": _TEXTS,
    },
    "required": ["question"],
    "additionalProperties": False,
}

# Flat, and with one choice between shapes: some programs that check answers know little more.
SKILL_RESPONSE: dict[str, object] = {
    "type": "object",
    "properties": {
        "status": {"enum": [status.value for status in ResultStatus]},
        "message": {"type": "string", "maxLength": LONGEST["message"]},
        "details": {"type": "object"},
        "errors": _TEXTS,
        "warnings": _TEXTS,
        "error_analysis": {"type": "string", "maxLength": LONGEST["error_analysis"]},
        "warning_analysis": {"type": "string", "maxLength": LONGEST["warning_analysis"]},
        "suggested_fixes": _TEXTS,
        "pending_input": {
            "type": "object",
            "properties": {
                "reason": _TEXT,
                "questions": {"type": "array", "items": {"anyOf": [_TEXT, _QUESTION]}},
                "can_proceed_without": {"type": "boolean"},
            },
            "required": ["questions"],
            "additionalProperties": False,
        },
    },
    "required": ["status", "message"],
    "additionalProperties": False,
}
