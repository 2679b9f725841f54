"""Fits a context package into a budget: what is oldest and least trusted goes first."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from runs.context import briefing
from runs.domain.values.plain_json import given

BYTES_OF_A_TOKEN = 4
TRUSTED = "trusted"  # a comment of somebody who may write to the repository

Json = dict[str, object]


def limit_of(most_bytes: int | None, most_tokens: int | None) -> int | None:
    """The smaller of both, in bytes; None when neither is set."""
    of_tokens = most_tokens * BYTES_OF_A_TOKEN if most_tokens else None
    return min(filter(None, (most_bytes, of_tokens)), default=None)


def cut(package: Mapping[str, object], limit: int) -> Json:
    """The package in at most so many bytes as an executor is given it, with what was left out.

    State, metadata, decisions and the resume point stay whole, so a small limit may not be met.
    """
    whole = dict(package)
    over = size_of(whole) - limit
    if over <= 0:
        return whole
    # To tell of a cut takes room too, so the first try may still be too large.
    excess, most = over, size_of(whole)
    while True:
        found = _cut(whole, excess, limit)
        rest = size_of(found) - limit
        if rest <= 0 or excess >= most:
            return found if rest <= 0 else _noted(found, rest, limit)
        excess = min(most, excess + rest)


def size_of(package: Mapping[str, object]) -> int:
    return _bytes(briefing.context_for_executor(package))


def _cut(package: Json, excess: int, limit: int) -> Json:
    cutting = _Cutting(package=dict(package), excess=excess, why=_why(limit))
    for step in _ORDER:
        if cutting.excess <= 0:
            break
        cutting = step(cutting)
    told = [*given(package, "left_out", list), *cutting.left_out]
    return {**cutting.package, "left_out": told}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutting:
    """A package on its way: what is too much still, and what was taken out."""

    package: Json
    excess: int
    why: str
    left_out: tuple[Json, ...] = field(default=())

    def without(self, name: str, value: object, what: str, size: int) -> "_Cutting":
        told = {"source": name, "what": what, "bytes": size, "why": self.why}
        return replace(
            self,
            package={**self.package, name: value},
            excess=self.excess - size,
            left_out=(*self.left_out, told),
        )


def _strangers_comments(cutting: _Cutting) -> _Cutting:
    return _comments(cutting, "of people without write permission", trusted=False)


def _other_comments(cutting: _Cutting) -> _Cutting:
    return _comments(cutting, "of people with write permission", trusted=True)


def _comments(cutting: _Cutting, whose: str, *, trusted: bool) -> _Cutting:
    issue = given(cutting.package, "issue", dict)
    comments = given(issue, "comments", list)
    # As they are told: the fence around each counts too.
    shown = briefing.context_for_executor(cutting.package)
    sizes = [
        _bytes(comment) + 2 for comment in given(given(shown, "issue", dict), "comments", list)
    ]
    gone: set[int] = set()
    size = 0
    for number, comment in enumerate(comments):  # the oldest is the first
        if size >= cutting.excess:
            break
        if (comment.get("trust") == TRUSTED) is trusted:
            gone.add(number)
            size += sizes[number]
    if not gone:
        return cutting
    kept = [comment for number, comment in enumerate(comments) if number not in gone]
    what = f"{_count(len(gone), 'comment')} {whose}, the oldest first"
    return cutting.without("issue", {**issue, "comments": kept}, what, size)


def _issue_body(cutting: _Cutting) -> _Cutting:
    issue = given(cutting.package, "issue", dict)
    kept, size = _shortened(str(issue.get("body") or ""), cutting.excess)
    if not size:
        return cutting
    return cutting.without("issue", {**issue, "body": kept}, "the end of the issue's text", size)


def _documents(cutting: _Cutting) -> _Cutting:
    for number, document in enumerate(given(cutting.package, "documents", list)):
        kept, size = _shortened(str(document.get("content") or ""), cutting.excess)
        if size <= 0:
            continue
        documents = list(given(cutting.package, "documents", list))
        documents[number] = {**document, "content": kept}
        what = f"the end of {document.get('path')}"
        cutting = cutting.without("documents", documents, what, size)
    return cutting


def _old_events(cutting: _Cutting) -> _Cutting:
    events = given(cutting.package, "events", list)
    gone = size = 0
    while gone < len(events) and size < cutting.excess:
        size += _bytes(events[gone]) + 2
        gone += 1
    if not gone:
        return cutting
    return cutting.without("events", events[gone:], f"the {_count(gone, 'oldest event')}", size)


def _spec(cutting: _Cutting) -> _Cutting:
    spec = given(cutting.package, "spec", dict)
    kept, size = _shortened(str(spec.get("content") or ""), cutting.excess)
    if not size:
        return cutting
    return cutting.without("spec", {**spec, "content": kept}, "the end of the specification", size)


_ORDER: tuple[Callable[[_Cutting], _Cutting], ...] = (
    _strangers_comments,
    _other_comments,
    _issue_body,
    _documents,
    _old_events,
    _spec,
)


def _shortened(text: str, excess: int) -> tuple[str, int]:
    """The text without so many bytes at its end, and how many they were."""
    if excess <= 0 or not text:
        return text, 0
    whole = text.encode(errors="replace")
    kept = whole[: max(0, len(whole) - excess)].decode(errors="ignore")
    return kept, len(whole) - len(kept.encode())


def _noted(package: Json, rest: int, limit: int) -> Json:
    message = f"The context is {rest} bytes over the budget of {limit}; the rest can't be cut."
    note = {"source": "budget", "level": "warning", "message": message}
    return {**package, "notes": [*given(package, "notes", list), note]}


def _bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace"))


def _why(limit: int) -> str:
    return f"the project's context limit is {limit} bytes"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
