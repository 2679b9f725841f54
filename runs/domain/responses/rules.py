"""What is wrong with a skill response, and how much it matters."""

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum

from runs.domain.responses.legacy import NEW_NAMES
from runs.domain.responses.severity import Severity
from runs.domain.values.errors import Problem
from runs.domain.values.forms.questions import problems_of
from runs.domain.values.plain_json import given, quoted

Response = Mapping[str, object]


class ResultStatus(StrEnum):
    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"
    PENDING_INPUT = "pending_input"


class Weight(Enum):
    FATAL = "fatal"  # nothing to act on: invalid, and the step has failed
    STRICT = "strict"  # invalid, but no reason to fail a step that has done its work
    MILD = "mild"  # valid, and worth saying


Finding = tuple[Weight, Problem]

KINDS: Mapping[str, type] = {
    "message": str,
    "details": dict,
    "errors": list,
    "warnings": list,
    "error_analysis": str,
    "warning_analysis": str,
    "suggested_fixes": list,
    "pending_input": dict,
}
PENDING_KINDS: Mapping[str, type] = {
    "reason": str,
    "questions_presented": bool,
    "can_proceed_without": bool,
    "timeout_behavior": str,
    "questions": list,
}
QUESTION_KINDS: Mapping[str, type] = {
    "id": str,
    "question": str,
    "type": str,
    "required": bool,
    "options": list,
}
_KIND_NAMES = {str: "a string", list: "a list", dict: "an object", bool: "true or false"}
STATUSES = ", ".join(ResultStatus)
# What a response may have to be valid; a message that is longer is kept and shown all the same.
LONGEST = {"message": 500, "error_analysis": 2000, "warning_analysis": 2000}
ITEM_TEXT = {"errors": "text", "warnings": "text", "suggested_fixes": "description"}
DONE = (ResultStatus.SUCCESS, ResultStatus.WARNING)

# What a status needs beside it, and what stands there when the step said nothing.
NEEDED: Mapping[object, tuple[str, str]] = {
    ResultStatus.FAILURE: ("errors", "The step failed without giving a reason."),
    ResultStatus.WARNING: ("warnings", "The step reported a warning without details."),
}


def findings(document: Response, response: Response) -> list[Finding]:
    """Everything to say about a response, as it came and in today's words."""
    return [*_about_legacy(document), *_about_status(response), *_about_fields(response)]


def _about_legacy(document: Response) -> Iterator[Finding]:
    for key in document:
        if key in NEW_NAMES:
            advice = f"use {NEW_NAMES[key]}" if NEW_NAMES[key] else "and not used"
            yield Weight.MILD, Problem(key, f"is deprecated, {advice}")
    if document.get("status") == "error":
        yield Weight.MILD, Problem("status", '"error" is deprecated, use "failure"')
    yield from _about_kinds(document, {"success": bool})


def _about_status(response: Response) -> Iterator[Finding]:
    status, pending = response.get("status"), given(response, "pending_input", dict)
    if "status" not in response:
        yield Weight.FATAL, Problem("status", f"is missing; it must be one of {STATUSES}")
    elif status not in list(ResultStatus):
        yield Weight.FATAL, Problem("status", f"{quoted(status)} is not one of {STATUSES}")
    elif status in DONE and texts(response, "errors"):
        yield Weight.MILD, Problem("status", f"is {status}, but any error makes it failure")
    elif status in NEEDED and not given(response, NEEDED[status][0], list):
        yield Weight.MILD, Problem(NEEDED[status][0], f"is empty, but the status is {status}")
    elif status == ResultStatus.PENDING_INPUT and not (
        pending.get("questions_presented") is True or given(pending, "questions", list)
    ):
        wanted = "questions_presented: true, or a list of questions"
        yield Weight.FATAL, Problem("pending_input", f"no questions; set {wanted}")


def _about_fields(response: Response) -> Iterator[Finding]:
    for key in response:
        if key not in KINDS and key != "status":
            yield Weight.STRICT, Problem(key, "is unknown; put your own fields in details")
    yield from _about_kinds(response, KINDS)
    if not str(response.get("message", "")).strip():
        yield Weight.MILD, Problem("message", "is missing; describe what happened in one sentence")
    for key, longest in LONGEST.items():
        length = len(given(response, key, str))
        if length > longest:
            yield Weight.STRICT, Problem(key, f"has {length} characters, more than {longest}")
    for key in ITEM_TEXT:
        for index, item in enumerate(given(response, key, list)):
            yield from _about_item(f"{key}[{index}]", item, key)
    yield from _about_pending(given(response, "pending_input", dict))


def _about_kinds(
    values: Response, kinds: Mapping[str, type], prefix: str = ""
) -> Iterator[Finding]:
    for key, kind in kinds.items():
        value = values.get(key)
        if key in values and not isinstance(value, kind):
            # A null says "none of these": wrong, but clear enough not to fail a run for.
            weight = Weight.STRICT if value is None else Weight.FATAL
            message = f"must be {_KIND_NAMES[kind]}, not {quoted(value)}"
            yield weight, Problem(prefix + key, message)


def _about_item(place: str, item: object, key: str) -> Iterator[Finding]:
    text = item_text(item, key)
    severity = item.get("severity", Severity.LOW) if isinstance(item, dict) else Severity.LOW
    if not isinstance(text, str):
        expected = f"must be a string, or an object with {ITEM_TEXT[key]}"
        yield Weight.FATAL, Problem(place, f"{expected}, not {quoted(item)}")
    elif not text.strip():
        yield Weight.STRICT, Problem(place, "is empty")
    if severity not in list(Severity):
        message = f"{quoted(severity)} is not one of {', '.join(Severity)}"
        yield Weight.STRICT, Problem(f"{place}.severity", message)


def _about_pending(pending: Response) -> Iterator[Finding]:
    yield from _about_kinds(pending, PENDING_KINDS, "pending_input.")
    for index, question in enumerate(given(pending, "questions", list)):
        place = f"pending_input.questions[{index}]"
        asked = question if isinstance(question, dict) else {"question": question}
        yield from _about_kinds(asked, QUESTION_KINDS, f"{place}.")
        texts = {f"{place}.question": given(asked, "question", str)}
        for number, option in enumerate(given(asked, "options", list)):
            texts[f"{place}.options[{number}]"] = option
        for where, text in texts.items():
            if not isinstance(text, str):
                yield Weight.FATAL, Problem(where, f"must be a string, not {quoted(text)}")
            elif not text.strip():
                yield Weight.FATAL, Problem(where, "is empty")
        for key, message in problems_of(asked):
            yield Weight.STRICT, Problem(f"{place}.{key}", message)


def texts(response: Response, key: str) -> tuple[str, ...]:
    texts = (item_text(item, key) for item in given(response, key, list))
    return tuple(text for text in texts if isinstance(text, str) and text.strip())


def item_text(item: object, key: str) -> object:
    return item.get(ITEM_TEXT[key]) if isinstance(item, dict) else item
