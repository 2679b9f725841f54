"""What every kind of agent is asked for, and the little that they share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runs.domain.responses.results import Result
from runs.executors.orders import Outcome

Counted = Mapping[str, Mapping[str, float]]  # what each session was said to have used so far

_SESSION = re.compile(r"[A-Za-z0-9][\w.:-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One launch of an agent."""

    instruction: str = ""
    session: str = ""  # to go on in
    new_session: str = ""  # to begin, when it does not go on; empty: the program names it
    only_answers: bool = False  # it is asked about its work, and may change nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an agent told besides its answer."""

    session: str = ""
    usage: Mapping[str, object] | None = None


class Adapter(Protocol):
    """How a kind of agent is started and read; the prompt always goes to standard input."""

    environment: Mapping[str, str]  # what it is started with, unless the worker says otherwise

    def takes_sessions(self, command: Sequence[str]) -> bool:
        """Whether the program can go on in a session, and the command leaves it to us."""

    def names_sessions(self, command: Sequence[str]) -> bool:
        """Whether a session can be given its name before it begins."""

    def argv(self, command: Sequence[str], call: Call) -> tuple[str, ...]:
        """The command with what this call needs; a flag that is there already is left alone.

        For a call that only answers, flags that would let it do more are taken out.
        """

    def answer(self, printed: str, *, step: str) -> Result: ...

    def words(self, printed: str) -> str | Result:
        """What it said as it said it, or the failure that it reported."""

    def said(self, printed: str, counted: Counted) -> Said:
        """Its session, and what this call used of it: of a session's total only what is new."""

    def refuses_session(self, outcome: Outcome) -> bool:
        """Whether nothing was done because the program does not know, or take, the session."""


def has(command: Sequence[str], *flags: str) -> bool:
    """Whether a flag is given, as a word of its own or as `--flag=value`."""
    return any(word.partition("=")[0] in flags for word in command)


def without(command: Sequence[str], flags: Mapping[str, int | None]) -> tuple[str, ...]:
    """The command without these flags and the words behind each; None: all up to the next flag."""
    kept: list[str] = []
    words = list(command)
    while words:
        name, _, value = (word := words.pop(0)).partition("=")
        if name not in flags:
            kept.append(word)
        elif not value:
            most = flags[name]
            while words and (most is None or most > 0) and not words[0].startswith("-"):
                words.pop(0)
                most = None if most is None else most - 1
    return tuple(kept)


def session_name(value: object) -> str:
    """A session's name as a program printed it, unless it could be anything but a name."""
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else ""
