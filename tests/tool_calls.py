"""Agents whose hook asks about a tool, in tests."""

from typing import Any
from uuid import uuid4

from tests.api_client import Program

Json = dict[str, Any]


class Hook:
    """One process that Claude Code started for one call."""

    def __init__(self, program: Program, *, event: str = "PermissionRequest") -> None:
        self._program, self._event, self._waiter = program, event, uuid4().hex

    def asks(self, command: str = "npm test", /, **said: Any) -> Json:
        call = {"tool": "Bash", "input": {"command": command}, "session": "s-1", **said}
        answer = self._program.post(
            "/tool-calls", {"event": self._event, "waiter": self._waiter, **call}
        )
        assert answer.status_code in (200, 202), answer.content
        told: Json = answer.json()  # type: ignore[attr-defined]
        assert (answer.status_code == 200) == (told["verdict"] is not None)
        return told

    def leaves(self, call: int, *, withdraw: bool = True) -> int:
        body = {"waiter": self._waiter, "withdraw": withdraw}
        return self._program.post(f"/tool-calls/{call}/leave", body).status_code
