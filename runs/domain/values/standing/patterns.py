"""Which calls a pattern covers: an exact call, a command's first words, or paths."""

import re
from functools import lru_cache

from runs.domain.values.standing.calls import Subject, SubjectKind

LONGEST = 2000
ANYTHING_AFTER = " *"

# With one of these a command is more than its first words say.
_OPERATORS = re.compile(r"[;&|`<>\n\r\0]|\$\(")


def covers(pattern: str, subject: Subject) -> bool:
    """Whether a rule with this pattern is about this call; in doubt it is not."""
    if pattern == subject.text:
        return True
    match subject.kind:
        case SubjectKind.COMMAND:
            return _covers_command(pattern, subject.text)
        case SubjectKind.PATH:
            return _covers_path(pattern, subject.text)
        case SubjectKind.CALL:
            return False


def has_operators(command: str) -> bool:
    """Whether a shell would run more than one command, or read or write a file for it."""
    return _OPERATORS.search(command) is not None


def problem_with(pattern: str) -> str:
    """Why this is no pattern that anybody could mean; nothing when it is one."""
    if not pattern.strip():
        return "needs the call, or its beginning followed by ` *`"
    if len(pattern) > LONGEST:
        return f"has more than {LONGEST} characters"
    words = pattern.removesuffix(ANYTHING_AFTER)
    if not words.strip(" */"):
        return "would cover every call; name at least one word or folder"
    if words != pattern and has_operators(words):
        return "ends in ` *` and holds a shell operator; only an exact command may"
    return ""


def suggestions(subject: Subject) -> list[str]:
    """Patterns that cover this call, the narrowest first."""
    wider: list[str] = []
    if subject.kind is SubjectKind.COMMAND:
        words = subject.text.split(" ")
        shorter = [" ".join(words[:size]) for size in (2, 1) if size < len(words)]
        wider = [f"{some}{ANYTHING_AFTER}" for some in shorter]
    elif subject.kind is SubjectKind.PATH:
        folder = subject.text.rpartition("/")[0]
        wider = [f"{folder}/*", f"{folder}/**"]
    meant = (each for each in wider if covers(each, subject) and not problem_with(each))
    return list(dict.fromkeys([subject.text, *meant]))


def _covers_command(pattern: str, command: str) -> bool:
    words = pattern.removesuffix(ANYTHING_AFTER)
    if words == pattern or not words.strip() or has_operators(command):
        return False
    return command == words or command.startswith(f"{words} ")


def _covers_path(pattern: str, path: str) -> bool:
    if not path.startswith("/") or ".." in path.split("/"):
        return False
    return _paths(pattern).fullmatch(path) is not None


@lru_cache(256)
def _paths(pattern: str) -> re.Pattern[str]:
    """`*` stays within a folder, `**` goes below."""
    pieces = re.split(r"(\*\*|\*)", pattern)
    wild = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(wild.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
