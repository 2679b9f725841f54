"""What a step handed back: the skill response, read, converted and coerced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from runs.domain.responses.legacy import modern
from runs.domain.responses.rules import (
    DONE,
    ITEM_TEXT,
    KINDS,
    NEEDED,
    Finding,
    Response,
    ResultStatus,
    Weight,
    findings,
    texts,
)
from runs.domain.responses.severity import Severity
from runs.domain.values.errors import Problem
from runs.domain.values.plain_json import given, quoted, storable

__all__ = [
    "CheckedResponse",
    "Result",
    "ResultStatus",
    "check_response",
    "failure",
    "kept_message",
    "read_response",
    "refuted",
    "to_json",
]

LONGEST_KEPT = 20_000  # characters of a message; far beyond what anybody says in a sentence or two
_ROOM_TO_SAY_SO = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A skill response that may be acted on; whatever came in, this is what counts."""

    status: ResultStatus
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error_analysis: str = ""
    warning_analysis: str = ""
    suggested_fixes: tuple[str, ...] = ()
    pending_input: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # about the response itself; the step said none of these
    severities: Mapping[str, Severity] = field(default_factory=dict)  # where the step gave one
    # Keys that no response has; they are judged, never kept.
    beside: Mapping[str, object] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedResponse:
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    result: Result | None

    @property
    def valid(self) -> bool:
        return not self.errors


class _Reading(NamedTuple):
    response: Response
    findings: list[Finding]
    raw: Mapping[str, object]

    def problems(self, *weights: Weight) -> tuple[Problem, ...]:
        return tuple(problem for weight, problem in self.findings if weight in weights)


def check_response(document: object) -> CheckedResponse:
    """Every problem of a response, and what the engine would act on if it is valid."""
    reading = _read(document)
    errors = reading.problems(Weight.FATAL, Weight.STRICT)
    return CheckedResponse(
        errors=errors,
        warnings=reading.problems(Weight.MILD),
        result=None if errors else _result(reading),
    )


def read_response(document: object, *, step: str) -> Result:
    """What the engine acts on, whatever came in; what cannot be read is a failure."""
    reading = _read(document)
    fatal = reading.problems(Weight.FATAL)
    if not fatal:
        return _result(reading)
    return failure(
        f"The step {step} returned no valid result.",
        errors=[f"{step}: {problem}" for problem in fatal],
        details=reading.raw,
    )


def failure(
    message: str,
    *,
    errors: Iterable[str] = (),
    details: Mapping[str, object] | None = None,
    error_analysis: str = "",
    suggested_fixes: Iterable[str] = (),
) -> Result:
    """The result of a step that could not speak for itself."""
    response = {
        "status": "failure",
        "message": message,
        "errors": list(errors) or [message],
        "details": dict(details or {}),
        "error_analysis": error_analysis,
        "suggested_fixes": list(suggested_fixes),
    }
    return read_response(response, step="failure")


def refuted(
    result: Result, message: str, *, errors: Iterable[str], suggested_fixes: Iterable[str] = ()
) -> Result:
    """A failure in the place of a response that is not believed; what it said is kept, apart."""
    kept: dict[str, object] = {"claimed": {**result.beside, **to_json(result)}}
    if "output_tail" in result.details:
        kept["output_tail"] = result.details["output_tail"]
    return failure(message, errors=errors, details=kept, suggested_fixes=suggested_fixes)


def to_json(result: Result) -> dict[str, object]:
    """The canonical skill response, without its empty fields and without the notes on it."""
    response: dict[str, object] = {"status": result.status.value, "message": result.message}
    for key, kind in KINDS.items():
        if value := getattr(result, key):
            response[key] = kind(value)
    return response


def _read(document: object) -> _Reading:
    nothing = "no valid result object was returned"
    try:
        plain = storable(document)
    except (TypeError, ValueError, RecursionError) as error:
        return _Reading({}, [(Weight.FATAL, Problem("", f"{nothing}: {error}"))], {})
    if not isinstance(plain, dict):
        problem = Problem("", f"{nothing}, only {quoted(plain)}")
        return _Reading({}, [(Weight.FATAL, problem)], {"raw": plain})
    response = modern(plain)
    return _Reading(response, findings(plain, response), {"raw": plain})


def _result(reading: _Reading) -> Result:
    response = reading.response
    said = {key: texts(response, key) for key in ITEM_TEXT}
    status = ResultStatus(str(response["status"]))
    if status in DONE and said["errors"]:
        status = ResultStatus.FAILURE
    if status in NEEDED:
        key, placeholder = NEEDED[status]
        said[key] = said[key] or (placeholder,)
    message, details = _fitted(given(response, "message", str), given(response, "details", dict))
    items = [item for key in ("errors", "warnings") for item in _objects(response, key)]
    return Result(
        status=status,
        message=message,
        details=details,
        errors=said["errors"],
        warnings=said["warnings"],
        error_analysis=given(response, "error_analysis", str),
        warning_analysis=given(response, "warning_analysis", str),
        suggested_fixes=(*said["suggested_fixes"], *_fixes_in(items)),
        pending_input=given(response, "pending_input", dict),
        notes=tuple(map(str, reading.problems(Weight.STRICT, Weight.MILD))),
        severities=_severities_in(items),
        beside={key: response[key] for key in response if key not in KINDS and key != "status"},
    )


def kept_message(message: str) -> str:
    """A message as it is kept: whole, or cut and saying so; what was cut before stays as it is."""
    if len(message) <= LONGEST_KEPT:
        return message
    kept = message[: LONGEST_KEPT - _ROOM_TO_SAY_SO]
    return f"{kept}… ({len(message) - len(kept):,} more characters omitted)"


def _fitted(message: str, details: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    if not message.strip():
        return "(no message)", details
    kept = kept_message(message)
    return kept, details if kept == message else {**details, "message": message}


def _fixes_in(items: list[dict[str, object]]) -> list[str]:
    return [text for item in items if (text := given(item, "suggested_fix", str)).strip()]


def _severities_in(items: list[dict[str, object]]) -> dict[str, Severity]:
    return {
        given(item, "text", str): Severity(given(item, "severity", str))
        for item in items
        if item.get("severity") in list(Severity)
    }


def _objects(response: Response, key: str) -> list[dict[str, object]]:
    return [item for item in given(response, key, list) if isinstance(item, dict)]
