"""What both stand-ins remember between two launches: sessions, calls, answers to give."""

import json
import os
import sys
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("FAKE_AGENTS", "."))
DONE = {"status": "success", "message": "Done."}

Sessions = dict[str, list[str]]


def sessions() -> Sessions:
    known: Sessions = _read("sessions.json", {})
    return known


def keep(session: str, prompt: str) -> None:
    """Remember what was asked in a session, and how the program was started for it."""
    known = sessions()
    (HOME / "sessions.json").write_text(
        json.dumps({**known, session: [*known.get(session, []), prompt]})
    )
    with (HOME / "calls.jsonl").open("a") as file:
        call: dict[str, Any] = {"argv": sys.argv[1:], "prompt": prompt, "session": session}
        call["does_not_wait"] = os.environ.get("MCP_CONNECTION_NONBLOCKING")
        call["traceparent"] = os.environ.get("TRACEPARENT")
        file.write(json.dumps(call) + "\n")


def turns_in(session: str) -> int:
    return len(sessions().get(session, ())) or 1


def tells_totals() -> bool:
    """Whether Claude Code tells what the whole session cost; older ones tell it of each call."""
    return not (HOME / "older").exists()


def next_answer() -> Any:
    first, *rest = _read("answers.json", []) or [DONE]
    (HOME / "answers.json").write_text(json.dumps(rest))
    return first


def refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def _read(name: str, default: Any) -> Any:
    file = HOME / name
    return json.loads(file.read_text()) if file.exists() else default
