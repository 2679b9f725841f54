"""Asks people whether an agent may use a tool, in the words that Claude Code reads."""

import hashlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping

from feedback.mcp.site import Json, Session, WaitResult
from feedback.tool_calls import tool_input
from runs.domain.values.errors import FaberError, NotFound
from runs.domain.values.questions import Action
from runs.domain.values.standing.calls import SubjectKind, subject_of
from runs.domain.values.text import one_line

Report = Callable[[float], Awaitable[None]]

# One wait of many: short enough that a client which gave up is noticed soon.
SLICE = 20.0
# The file that is shown has the whole input; the context goes wherever the request goes.
LONGEST_IN_CONTEXT = 4000
LONGEST_IN_TITLE = 150

REFUSED = (
    "A person refused this{words} The refusal is final: do not try it again and do not look for "
    "a way around it. Go on without it, or stop and say so."
)
WITHDRAWN = "The question was withdrawn before anybody answered it. Do not try it again."
NOBODY = (
    "Nobody has answered yet; this is not a refusal. The question stays open at {url}. Do not "
    "repeat the call now: go on with something else, or stop and say what you are waiting for. "
    "Once a person has answered, the same call with the same input gets that answer at once."
)
NOT_ASKED = (
    "The request could not be created, so it is denied. {why} Do not try it again; say so and stop."
)
NOT_HEARD = (
    "The request was created, but its answer is not available now. {why} Do not repeat the call "
    "now; stop and say so."
)


class Parked:
    """Questions whose call ended before the answer came; the next such call takes one up."""

    MOST = 1000  # one that is forgotten is asked again

    def __init__(self) -> None:
        self._request_ids: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def put(self, key: str, request_id: str) -> None:
        with self._lock:
            if len(self._request_ids) >= self.MOST:
                self._request_ids.clear()
            self._request_ids.setdefault(key, []).append(request_id)

    def take(self, key: str) -> str:
        """Each is taken once: one answer lets one call through."""
        with self._lock:
            waiting = self._request_ids.pop(key, [])
            if waiting[1:]:
                self._request_ids[key] = waiting[1:]
            return waiting[0] if waiting else ""


PARKED = Parked()


async def decide(
    session: Session, tool: str, given: Json, tool_use_id: str, report: Report
) -> Json:
    """`allow` with the input, or `deny` with why; whatever goes wrong is a no."""
    key = _key(session, tool, given)
    try:
        request_id = PARKED.take(key) or await _asked(session, tool, given, tool_use_id)
    except FaberError as error:
        return _denied(NOT_ASKED.format(why=error))
    try:
        waited = await _waited(session, key, request_id, report)
    except FaberError as error:
        return _denied(NOT_HEARD.format(why=error))
    if not waited.is_settled:
        return _denied(NOBODY.format(url=waited.request["url"]))
    return _verdict(waited.request, given)


async def _asked(session: Session, tool: str, given: Json, tool_use_id: str) -> str:
    def ask() -> Json:
        return session.site.ask(_question(session, tool, given, tool_use_id))

    return str((await session.in_thread(ask))["request_id"])


async def _waited(session: Session, key: str, request_id: str, report: Report) -> WaitResult:
    began = time.monotonic()
    is_settled = False
    try:
        while True:
            left = max(0.0, began + session.patience - time.monotonic())
            seconds = min(SLICE, left)
            waited = await session.in_thread(lambda s=seconds: session.site.wait(request_id, s))  # type: ignore[misc]
            is_settled = waited.is_settled
            if is_settled or not waited.had_seat or left <= SLICE:
                return waited
            await report(time.monotonic() - began)
    finally:
        # Also when the client gave up on the call: the person's answer must not be lost.
        if not is_settled:
            PARKED.put(key, request_id)


def _question(session: Session, tool: str, given: Json, tool_use_id: str) -> Json:
    shown = tool_input.without_secrets(given)
    name = one_line(tool, 100) or "a tool without a name"
    text = json.dumps(shown, ensure_ascii=False)
    context = {
        "summary": _summary(session.run_id),
        "tool": name,
        "input": shown if len(text) <= LONGEST_IN_CONTEXT else None,
        "tool_use_id": tool_use_id,
        "run_id": session.run_id,
    }
    return {
        "type": "confirmation",
        "prompt": f"Allow {name}{_what(tool, shown)}?",
        "options": [
            {"value": "confirm", "description": "Allow exactly this call, once"},
            {"value": "cancel", "description": "Deny this call; the agent must not retry it"},
        ],
        "context": {key: value for key, value in context.items() if value},
        "artifact": {"path": tool_input.file_name(name), "content": tool_input.readable(shown)},
        "project": _project(session),
    }


def _what(tool: str, shown: object) -> str:
    """The command or the file, by which people know the request in a list."""
    subject = subject_of(tool, shown if isinstance(shown, Mapping) else {})
    text = one_line(subject.text, LONGEST_IN_TITLE)
    return f": {text}" if subject.kind is not SubjectKind.CALL and text else ""


def _summary(run_id: str) -> str:
    return (
        f"An agent wants to use this tool in run {run_id}."
        if run_id
        else "An agent wants to use this tool."
    )


def _project(session: Session) -> str:
    """That of the run, so that the question comes to whoever looks after it."""
    if not session.run_id:
        return ""
    try:
        return str(session.site.run(session.run_id)["project"])
    except FaberError as error:
        if error.code != NotFound.code:
            raise
        return ""


def _verdict(request: Json, given: Json) -> Json:
    answer = request.get("response")
    if not answer:
        return _denied(WITHDRAWN)
    if answer["action"] == Action.CONTINUE:
        return {"behavior": "allow", "updatedInput": given}
    words = str(answer.get("comment") or "").strip()
    return _denied(REFUSED.format(words=f", saying: “{words}”." if words else "."))


def _denied(message: str) -> Json:
    return {"behavior": "deny", "message": message}


def _key(session: Session, tool: str, given: Json) -> str:
    said = json.dumps([session.asker, session.run_id, tool, given], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()
