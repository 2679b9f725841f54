"""What an agent wants to do with a tool, as the part of its input that people recognise."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

PLAN = "ExitPlanMode"
QUESTIONS = "AskUserQuestion"

# What a command may come with and still be no more than the command.
_BESIDE_A_COMMAND = frozenset({"command", "description", "timeout", "run_in_background"})
_PATH_KEYS = {
    **dict.fromkeys(("Read", "Edit", "MultiEdit", "Write"), "file_path"),
    "NotebookEdit": "notebook_path",
}


class SubjectKind(StrEnum):
    COMMAND = "command"
    PATH = "path"
    CALL = "call"  # the whole input, of a tool nobody knows more about


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The command, the file or the whole input: what a title names and a pattern is held to."""

    kind: SubjectKind
    text: str


def subject_of(tool: str, given: Mapping[str, object]) -> Subject:
    command, path = given.get("command"), given.get(_PATH_KEYS.get(tool, ""))
    if tool == "Bash" and isinstance(command, str) and given.keys() <= _BESIDE_A_COMMAND:
        return Subject(kind=SubjectKind.COMMAND, text=command.strip())
    if isinstance(path, str):
        return Subject(kind=SubjectKind.PATH, text=path)
    return Subject(kind=SubjectKind.CALL, text=canonical(given))


def canonical(given: Mapping[str, object]) -> str:
    """The same text for the same input, whatever the order of its keys."""
    return json.dumps(given, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
