"""A request to the fake GitHub, and what it sends back."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def refusal(status: int, message: str, **more: object) -> Reply:
    return Reply(status=status, data={"message": message, **more})


NOT_FOUND = refusal(404, "Not Found")
