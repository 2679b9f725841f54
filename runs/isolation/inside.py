"""Whether this process belongs to a step, and what it then may not do."""

import os
from collections.abc import Sequence
from pathlib import Path

_VEIL = "/runs/isolation/enter.py"
_FIRST_PROCESS = Path("/proc/1/cmdline")

# Commands that decide, or that make somebody who could; with a word: only when that is there too.
REFUSED: dict[str, tuple[str, ...]] = {
    "answer": (),
    "ask": (),
    "backup": (),
    "batch": ("answer",),
    "cancel": (),
    "delegate": (),
    "hook": ("connect", "install", "remove"),
    "init": (),
    "import": (),
    "login-link": (),
    "notify": (),
    "override": (),
    "project": ("--set", "--webhook-secret"),
    "prune": (),
    "restore": (),
    "resume": (),
    "rule": ("disable", "remove", "stop", "start"),
    "token": (),
    "user": (),
    "webhook": (),
    # Django's own, which would do as well.
    "changepassword": (),
    "createsuperuser": (),
    "dbshell": (),
    "flush": (),
    "loaddata": (),
    "shell": (),
}


def is_step() -> bool:
    """Whether a step started this process.

    Inside the isolation the first process tells, which no step can replace. Without it only the
    environment does, which a step can change.
    """
    return is_isolated() or bool(os.environ.get("FABER_RUN_ID", "").strip())


def is_isolated() -> bool:
    return bool(_veiled())


def is_hidden(folder: Path) -> bool:
    """Whether this process sees an empty folder in its place."""
    return is_isolated() and not os.access(folder, os.W_OK)


def door() -> Path | None:
    """The way to `faber mcp` outside, when there is one."""
    words = _veiled()
    plan = words[: words.index("--")] if "--" in words else words
    return Path(plan[plan.index("door") + 1]) if "door" in plan else None


def refusal(words: Sequence[str]) -> str:
    """Why a step may not call `faber` with these words; empty when it may."""
    command = words[0].replace("_", "-") if words else ""
    needed = REFUSED.get(command)
    if needed is None or not is_step():
        return ""
    said = next((word for word in words[1:] if _stands_for(word, needed)), "")
    if needed and not said:
        return ""
    called = " ".join(filter(None, ("faber", command, said.partition("=")[0])))
    return (
        f"Steps can't call `{called}`: only people outside the run can decide or manage accounts. "
        "To ask a person, return `pending_input` or use `faber mcp`."
    )


def _stands_for(word: str, needed: Sequence[str]) -> bool:
    """Whether a word is one of these; options may be shortened and joined with their value."""
    name = word.partition("=")[0]
    return name in needed or (
        len(name) > 2 and any(name.startswith("--") and each.startswith(name) for each in needed)
    )


def _veiled() -> list[str]:
    """The words that the veil of this process's step was called with."""
    try:
        words = _FIRST_PROCESS.read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
    at = next((place for place, word in enumerate(words) if word.endswith(_VEIL)), None)
    return [] if at is None else words[at + 1 :]
