"""Reads the spellings that earlier versions of the original used for the same things."""

from collections.abc import Mapping

from pydantic import BaseModel

from feedback.exchange.run_directory import Metadata, StateDocument
from runs.domain.values.errors import Problem

Json = dict[str, object]

_STATUSES: Mapping[str, str] = {
    "aborted": "cancelled",
    "error": "failed",
    "paused": "in_progress",
    "pending_input": "in_progress",
    "running": "in_progress",
    "stopped": "cancelled",
}
_LEVELS: Mapping[str, str] = {"assisted": "assist", "supervised": "assist"}


def read(kind: type[BaseModel], document: Mapping[str, object]) -> tuple[Json, list[Problem]]:
    """The document in today's words, and what was understood in another sense than it is written.

    Whoever keeps the document keeps what was written, not this.
    """
    if kind not in (StateDocument, Metadata):
        return dict(document), []
    said: list[Problem] = []
    known = {key: value for key, value in document.items() if value is not None}
    if kind is StateDocument:
        _translate(known, "status", _STATUSES, said)
        if known.get("current_phase") == "none":
            known["current_phase"] = None
        known["phases"] = _phases(known.get("phases", {}))
        known["feedback_history"] = _history(known.get("feedback_history", []))
    else:
        _translate(known, "autonomy", _LEVELS, said)
        if type(known.get("work_id")) is int:
            known["work_id"] = str(known["work_id"])
    return known, said


def _translate(document: Json, key: str, words: Mapping[str, str], said: list[Problem]) -> None:
    written = document.get(key)
    if isinstance(written, str) and written in words:
        document[key] = words[written]
        said.append(Problem(key, f"{written!r} is read as {words[written]}"))


def _history(history: object) -> object:
    """Who answered is an object; a coordinator of several runs wrote only a name."""
    if not isinstance(history, list):
        return history
    return [
        {**entry, "provided_by": {"user": entry["provided_by"]}}
        if isinstance(entry, dict) and isinstance(entry.get("provided_by"), str)
        else entry
        for entry in history
    ]


def _phases(phases: object) -> object:
    if not isinstance(phases, dict):
        return phases
    return {name: _phase(phase) for name, phase in phases.items()}


def _phase(phase: object) -> object:
    """Steps as a list of objects; others wrote an object of objects, or only their names."""
    if not isinstance(phase, dict):
        return phase
    steps = phase.get("steps", [])
    if isinstance(steps, dict):
        steps = [
            {**step, "id": name} if isinstance(step, dict) else {"id": name}
            for name, step in steps.items()
        ]
    elif isinstance(steps, list):
        steps = [{"id": step} if isinstance(step, str) else step for step in steps]
    return {**phase, "steps": steps}
