"""Evidence that a step is done besides its own word: how it is written, and what it comes to."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from runs.domain.responses.results import Result, refuted
from runs.domain.workflow.commands import fill_words
from runs.domain.workflow.definition import Evidence
from runs.domain.workflow.placeholders import fill_text
from runs.domain.workflow.problems import Notes, place_of

KINDS = tuple(Evidence.model_fields)
_PATHS = ("artifact", "file")
# Stands where a wrong piece stood, so that the places of the pieces behind it stay right.
_STAND_IN: Mapping[str, object] = {"commit": True}


class EvidenceStatus(StrEnum):
    FOUND = "found"
    MISSING = "missing"
    UNCHECKED = "unchecked"  # it could not be looked for on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One piece of evidence, and what looking for it came to."""

    kind: str
    wanted: str  # the path or the command; nothing for a commit
    standing: EvidenceStatus
    words: str

    def shape(self) -> dict[str, object]:
        return asdict(self)


def refusal(result: Result, key: str, checked: Iterable[Checked]) -> Result | None:
    """What counts instead of a success without its evidence; None when nothing is missing."""
    missing = [piece.words for piece in checked if piece.standing is EvidenceStatus.MISSING]
    if not missing:
        return None
    return refuted(
        result,
        f"{key} reported success, but evidence is missing: {missing[0]}"
        + (f" ({len(missing) - 1} more)" if len(missing) > 1 else ""),
        errors=missing,
        suggested_fixes=["Provide the missing evidence, then retry"],
    )


def kind_of(piece: Evidence) -> str:
    return next(kind for kind in KINDS if getattr(piece, kind) is not None)


def filled(pieces: Iterable[Evidence], known: Mapping[str, object]) -> tuple[Evidence, ...]:
    """The pieces with their placeholders filled; a value with spaces stays one word."""
    return tuple(
        piece.model_copy(
            update={
                "artifact": piece.artifact and fill_text(piece.artifact, known),
                "file": piece.file and fill_text(piece.file, known),
                "command": piece.command and fill_words(piece.command, known),
            }
        )
        for piece in pieces
    )


def tidy_evidence(step: dict[str, object], place: str, notes: Notes) -> None:
    """Put the short ways to write evidence into the long one; refuse what says nothing."""
    if "evidence" not in step:
        return
    where, written = place_of(place, "evidence"), step["evidence"]
    if isinstance(written, list):
        step["evidence"] = [
            _piece(item, place_of(where, index), notes) for index, item in enumerate(written)
        ]
    else:
        step["evidence"] = [_piece(written, where, notes)]


def _piece(written: object, place: str, notes: Notes) -> object:
    if written == "commit":
        return dict(_STAND_IN)
    if not isinstance(written, dict):
        return _refused(place, "must be commit, or an object with artifact, file or command", notes)
    named = [kind for kind in KINDS if written.get(kind) is not None]
    if written.keys() - set(KINDS):
        return written  # an unknown key is refused by its name
    if len(named) != 1:
        return _refused(place, f"must name exactly one of {', '.join(KINDS)}", notes)
    kind, value = named[0], written[named[0]]
    where = place_of(place, kind)
    if kind == "commit":
        return written if value is True else _refused(where, "must be true", notes)
    if kind in _PATHS:
        return _path(written, value, where, notes)
    return _command(written, value, where, notes)


def _path(written: object, value: object, place: str, notes: Notes) -> object:
    if not isinstance(value, str):
        return written  # its type is refused at its own place
    if not value.strip():
        return _refused(place, "must not be empty", notes)
    if ".." in PurePosixPath(value).parts:
        return _refused(place, "must stay inside the workspace", notes)
    return written


def _command(
    written: dict[str, object], value: object, place: str, notes: Notes
) -> Mapping[str, object]:
    """Split before placeholders are filled, like the command of a step."""
    words = value
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            return _refused(place, f"cannot be split into words: {str(error).lower()}", notes)
    if words == [] or (isinstance(words, list) and words[0] == ""):
        return _refused(place, "must name a program", notes)
    return {**written, "command": words}


def _refused(place: str, message: str, notes: Notes) -> Mapping[str, object]:
    notes.refuse(place, message)
    return _STAND_IN
