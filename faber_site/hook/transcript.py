"""What Claude Code writes down of its session tells when a call was decided in the terminal.

It ends a hook when the person at the terminal says no, and leaves it running after a yes. The
session's file then shows the result of the call.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# The call stands at the end of the file, which may be long.
TAIL = 500_000


class Transcript:
    """The lines about one call, read as they are written."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._tool, self._given = asked.get("tool_name"), asked.get("tool_input")
        self._file, self._read_to = _file_of(asked), 0
        self._calls: set[str] = set()
        self._done: set[str] = set()
        self._skip_to_tail()
        self._read()
        self._before = self._calls & self._done  # equal calls, earlier in the session

    def is_decided(self) -> bool:
        """Whether the call has its result; of equal calls at the same time, all of them."""
        self._read()
        calls = self._calls - self._before
        return bool(calls) and calls <= self._done

    def _skip_to_tail(self) -> None:
        try:
            self._read_to = max(0, self._file.stat().st_size - TAIL)
        except OSError:
            return

    def _read(self) -> None:
        try:
            with self._file.open("rb") as file:
                file.seek(self._read_to)
                new = file.read()
        except OSError:
            return  # without the file the hook waits as long as it is let
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for block in _blocks(whole):
            if block.get("type") == "tool_result":
                self._done.add(str(block.get("tool_use_id")))
            elif (block.get("name"), block.get("input")) == (self._tool, self._given):
                self._calls.add(str(block.get("id")))


def _file_of(asked: Mapping[str, Any]) -> Path:
    """The session's file, or that of its subagent."""
    file = Path(str(asked.get("transcript_path") or ""))
    agent = asked.get("agent_id")
    return file.with_suffix("") / "subagents" / f"agent-{agent}.jsonl" if agent else file


def _blocks(lines: bytes) -> Iterator[Json]:
    for line in lines.splitlines():
        if b'"tool_' in line:
            yield from _tool_blocks(line)


def _tool_blocks(line: bytes) -> Iterator[Json]:
    try:
        message = json.loads(line)["message"]["content"]
    except (ValueError, KeyError, TypeError):
        return  # the tail begins inside a line, and other kinds of lines have no message
    for block in message if isinstance(message, list) else []:
        if isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result"):
            yield block
