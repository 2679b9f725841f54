"""`faber hook claude`: one call of a tool, from Claude Code to people and back.

It prints a decision only when somebody made one. Whatever else happens, Claude Code asks by
itself: nothing is printed, or `ask` where an event knows that. It never exits with another code
than 0, because Claude Code takes 2 for a refusal.
"""

import http.client
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, NoReturn
from urllib.parse import urlsplit

from faber_site.hook import local_site
from faber_site.hook.local_site import KnownSite
from faber_site.hook.transcript import Transcript

Json = dict[str, Any]

# Just under what `faber hook install` gives the hook: 24 hours.
WAIT = 86_000.0
SLICE = 20.0
PAUSE = 2.0
# The site answers within a slice; a connection that is silent for longer is broken.
SILENCE = SLICE + 20
GOODBYE = 5.0
LOOK = 1.0

_BEFORE = "PreToolUse"
_PLAN, _QUESTIONS = "ExitPlanMode", "AskUserQuestion"
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_BUSY = (429, 502, 503, 504)


class Ended(Exception):
    """Claude Code does not wait any more."""


class NotTaken(Exception):
    """The site does not take the call."""


class SiteAway(Exception):
    """The site does not answer."""


def main(words: Sequence[str], *, agent: str = "claude") -> int:
    """Codex calls its hooks with the same words, and takes the same answers."""
    told, event = "", ""
    try:
        asked = _read(sys.stdin.buffer.read())
        event = str(asked["hook_event_name"])
        told = _decision(asked, Flags.of(words), agent)
    except Ended:
        told = ""
    except Exception as error:  # noqa: BLE001 (whatever it is, Claude Code must ask by itself)
        sys.stderr.write(f"FABER was not asked: {error}\n")
        told = _shape(event, {"message": f"FABER was not asked: {error}"}, {})
    sys.stdout.write(told)
    sys.stdout.flush()
    return 0


class Flags:
    """What the command line says; a mistake in it is told and stops nothing."""

    def __init__(self, wait: float = WAIT, project: str = "") -> None:
        self.wait, self.project = wait, project

    @classmethod
    def of(cls, words: Sequence[str]) -> "Flags":
        flags, rest = cls(), [part for word in words for part in _parted(word)]
        while rest:
            name, value, rest = rest[0], rest[1] if len(rest) > 1 else "", rest[2:]
            if name == "--wait":
                flags.wait = float(value)
            elif name == "--project":
                flags.project = value
            else:
                raise ValueError(f"unknown option {name}; known are --wait and --project")
        if not flags.wait >= 0:
            raise ValueError("--wait is a number of seconds")
        return flags


def _parted(word: str) -> list[str]:
    return word.split("=", 1) if word.startswith("--") else [word]


def _read(said: bytes) -> Json:
    asked = json.loads(said)
    if not isinstance(asked, dict) or not isinstance(asked.get("tool_input"), dict):
        raise NotTaken("standard input is not what a hook gets")
    return asked


def _decision(asked: Json, flags: Flags, agent: str) -> str:
    event, given = str(asked["hook_event_name"]), asked["tool_input"]
    site = local_site.find()
    call = {
        "tool": str(asked["tool_name"]),
        "input": given,
        "session": str(asked.get("session_id") or "none"),
        "event": event,
        "waiter": os.urandom(16).hex(),
        "agent": agent,
        "folder": str(asked.get("cwd") or ""),
        "project": flags.project,
    }
    verdict = _waited(site, call, time.monotonic() + flags.wait, Transcript(asked))
    return _shape(event, verdict, asked)


def _waited(site: KnownSite, call: Json, ends: float, transcript: Transcript) -> Json:
    """What was decided, or nothing when the time is over; the site may be away in between."""
    told = _first(site, call)
    number, is_before = told["call"], call["event"] == _BEFORE
    try:
        _watch_reader()
        if not is_before:  # the terminal asks too
            _watch_terminal(transcript)
        while not told.get("verdict"):
            began = time.monotonic()
            if began >= ends:
                # After `ask` the other event of the call finds the request and goes on waiting.
                _leave(site, call, number, withdraw=not is_before)
                return {"behavior": "none", "message": "Nobody has decided in FABER yet."}
            told = _again(site, {**call, "wait": min(SLICE, ends - began)})
            if not told.get("verdict") and time.monotonic() - began < 1:
                time.sleep(min(PAUSE, max(0.0, ends - time.monotonic())))
    except Ended:
        _leave(site, call, number, withdraw=True)
        raise
    return dict(told["verdict"])


def _first(site: KnownSite, call: Json) -> Json:
    """Ask, without being ended: only who knows the call's number can withdraw it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    for ending in _ENDINGS:
        signal.signal(ending, _end)
    try:
        return _asked(site, {**call, "wait": 0})
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)


def _again(site: KnownSite, call: Json) -> Json:
    try:
        return _asked(site, call)
    except SiteAway:
        return {}


def _asked(site: KnownSite, call: Json) -> Json:
    status, told = _post(site, "/api/v1/tool-calls", call, timeout=SILENCE)
    if status == http.client.UNAUTHORIZED and local_site.is_local():
        local_site.connect()
        status, told = _post(local_site.find(), "/api/v1/tool-calls", call, timeout=SILENCE)
    if status in _BUSY:
        raise SiteAway(f"HTTP {status}")
    if status not in (http.client.OK, http.client.ACCEPTED):
        error = told.get("error")
        raise NotTaken(error.get("message") if isinstance(error, dict) else f"HTTP {status}")
    return told


def _leave(site: KnownSite, call: Json, number: int, *, withdraw: bool) -> None:
    """Tell the site that nobody waits; where that fails its sweep finds out."""
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_IGN)
    body = {"waiter": call["waiter"], "withdraw": withdraw}
    try:
        _post(site, f"/api/v1/tool-calls/{number}/leave", body, timeout=GOODBYE)
    except SiteAway as error:
        sys.stderr.write(f"FABER could not be told that nobody waits: {error}\n")


def _post(site: KnownSite, path: str, body: Json, *, timeout: float) -> tuple[int, Json]:
    address = urlsplit(site.url)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if address.scheme not in kinds or not address.hostname:
        raise NotTaken(f"{site.url!r} is no address; it begins with http:// or https://")
    connection = kinds[address.scheme](address.hostname, address.port, timeout=timeout)
    headers = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}
    try:
        connection.request(
            "POST", f"{address.path.rstrip('/')}{path}", json.dumps(body).encode(), headers
        )
        answer = connection.getresponse()
        return answer.status, _document(answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise SiteAway(f"{site.url}: {error}") from error
    finally:
        connection.close()


def _document(body: bytes) -> Json:
    try:
        told = json.loads(body)
    except ValueError:
        return {}  # a proxy's page; the status says enough
    return told if isinstance(told, dict) else {}


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Ended


def _watch_reader() -> None:
    """When nobody reads any more what this process will print, that is its end too."""

    def watch() -> None:
        waiting = select.poll()
        waiting.register(sys.stdout.fileno(), 0)  # of itself it tells of errors and hangups
        waiting.poll()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _watch_terminal(transcript: Transcript) -> None:
    """When the call has its result, the person at the terminal was first."""

    def watch() -> None:
        while not transcript.is_decided():
            time.sleep(LOOK)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _shape(event: str, verdict: Mapping[str, Any], asked: Json) -> str:
    """A decision as Claude Code reads it."""
    behavior, message = verdict.get("behavior"), str(verdict.get("message") or "")
    if event == _BEFORE:
        decision = behavior if behavior in ("allow", "deny") else "ask"
        shape: Json = {"permissionDecision": decision}
        if message:
            shape["permissionDecisionReason"] = message
        if decision == "allow":
            shape.update(_input(asked, verdict))
        return _printed(event, shape)
    if behavior == "allow":
        return _printed(event, {"decision": {"behavior": "allow", **_input(asked, verdict)}})
    if behavior == "deny":
        return _printed(event, {"decision": {"behavior": "deny", "message": message}})
    return ""


def _input(asked: Json, verdict: Mapping[str, Any]) -> Json:
    """Plans and questions are allowed with their input: the same, with the answers."""
    given = asked["tool_input"]
    if asked["tool_name"] == _QUESTIONS and verdict.get("answers"):
        return {"updatedInput": {**given, "answers": verdict["answers"]}}
    return {"updatedInput": given} if asked["tool_name"] in (_PLAN, _QUESTIONS) else {}


def _printed(event: str, shape: Json) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **shape}}) + "\n"
