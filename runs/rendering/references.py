"""Link definitions (`[label]: address`), and which of them a reader ever meets."""

from collections.abc import Iterator, Mapping
from typing import Any

from markdown_it.common.utils import normalizeReference

from runs.rendering.bounds import MAX_BYTES, CannotRenderError


class References(dict[str, tuple[str, str]]):
    """Definitions by label, as CommonMark compares labels."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: dict[str, list[int]] = {}
        self._repeated: list[list[int]] = []
        self._copied = 0

    def define(self, found: Mapping[str, Any]) -> None:
        """Take over what markdown-it-py found; of two definitions the first one counts."""
        for label, definition in found.get("references", {}).items():
            self[label] = (definition["href"], definition["title"])
            self._idle[label] = definition["map"]
        self._repeated = [again["map"] for again in found.get("duplicate_refs", [])]

    def __contains__(self, label: object) -> bool:
        return super().__contains__(normalizeReference(str(label)))

    def __getitem__(self, label: str) -> tuple[str, str]:
        label = normalizeReference(label)
        self._idle.pop(label, None)
        address, title = super().__getitem__(label)
        # One long address, used by many short links, would make a small document huge.
        self._copied += len(address) + len(title)
        if self._copied > MAX_BYTES:
            raise CannotRenderError("This document repeats its link addresses too often.")
        return address, title

    def unused(self) -> Iterator[tuple[int, int]]:
        """First and last lines of what no link asked for, such as `[//]: # (a remark)`."""
        for start, end in (*self._idle.values(), *self._repeated):
            yield start + 1, end
