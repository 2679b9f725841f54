"""Which agent a name, a command line or an object in a workflow means."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from runs.domain.workflow.definition import Agent

Kind = Literal["claude", "codex", "plain"]

BY_NAME: tuple[Kind, ...] = ("claude", "codex")
HOW_TO_NAME_ONE = "claude, codex, a command, or an object with kind and command"


def kind_of(argv: Sequence[str]) -> Kind:
    """What is known of a program by its name; any other reads a prompt and prints an answer."""
    program = PurePath(argv[0]).name if argv else ""
    return next((kind for kind in BY_NAME if kind == program), "plain")


def named(line: str) -> Agent | None:
    """The agent that a project names in one line, if it names one; raises ValueError."""
    argv = tuple(shlex.split(line))
    if not argv:
        return None
    kind = kind_of(argv)
    return Agent(kind=kind) if argv == (kind,) else Agent(kind=kind, command=argv)
