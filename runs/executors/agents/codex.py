"""Codex without a terminal: `codex exec --json -`, which prints an event on each line."""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from runs.domain.responses import usage
from runs.domain.responses.results import Result, ResultStatus
from runs.executors.agents.adapters import Call, Counted, Said, has, session_name, without
from runs.executors.orders import Outcome
from runs.executors.printed_response import agent_answer, no_answer, reported_error

# What would let an agent do more than read, with how many words stand behind each.
_POWERS: Mapping[str, int | None] = {
    **dict.fromkeys(("--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto"), 0),
    **dict.fromkeys(("--approve-for-me", "--dangerously-bypass-hook-trust"), 0),
    **dict.fromkeys(("--sandbox", "-s", "--ask-for-approval", "-a", "--add-dir"), 1),
    "--output-schema": 1,
}
_READS_ONLY = ("--sandbox", "read-only", "-c", 'approval_policy="never"')
_REFUSAL = re.compile("no rollout found|no saved session found", re.IGNORECASE)

_Event = Mapping[str, object]
_Tokens = Mapping[str, float]


class Codex:
    environment: Mapping[str, str] = {}

    def takes_sessions(self, command: Sequence[str]) -> bool:
        return "resume" not in command and not has(command, "--ephemeral")

    def names_sessions(self, command: Sequence[str]) -> bool:
        return False  # it names each thread itself

    def argv(self, command: Sequence[str], call: Call) -> tuple[str, ...]:
        # Its schema flag is not used: that knows no open objects, and `details` is one.
        words = list(command[:-1] if command[-1:] == ("-",) else command)
        if "exec" not in words and "e" not in words:
            words.append("exec")
        if call.only_answers:
            words = [*without(words, _POWERS), *_READS_ONLY, *_without_servers()]
        if not has(words, "--json", "--experimental-json"):
            words.append("--json")
        # Most flags belong to `exec`, so they must stand before `resume`.
        if call.session:
            words += ["resume", call.session]
        return (*words, "-")

    def answer(self, printed: str, *, step: str) -> Result:
        events = list(_events(printed))
        if not events:
            return agent_answer(printed, step=step)
        if problem := _problem(events):
            return reported_error(problem)
        message = _last_message(events)
        return agent_answer(message, step=step) if message else no_answer("")

    def words(self, printed: str) -> str | Result:
        events = list(_events(printed))
        if problem := _problem(events):
            return reported_error(problem)
        return (_last_message(events) if events else printed).strip()

    def said(self, printed: str, counted: Counted) -> Said:
        threads, turns = [""], []
        for event in _events(printed):
            if event["type"] == "thread.started":
                threads.append(session_name(event.get("thread_id")))
            elif event["type"] == "turn.completed":
                turns.append(event.get("usage"))
        used = _of_this_call(_summed(turns), counted.get(threads[-1], {}))
        return Said(session=threads[-1], usage={"agent": "codex", **used})

    def refuses_session(self, outcome: Outcome) -> bool:
        if outcome.result.status is not ResultStatus.FAILURE or outcome.ended:
            return False
        events = list(_events(outcome.stdout))
        if any(event["type"] == "turn.started" for event in events):
            return False  # it has begun to work
        return bool(_REFUSAL.search(outcome.stderr + _problem(events)))


def _without_servers() -> Iterator[str]:
    """Its own MCP servers act outside of its sandbox; an empty table would not take them away."""
    home = Path(os.environ.get("CODEX_HOME") or Path("~/.codex").expanduser())
    try:
        known = tomllib.loads((home / "config.toml").read_text()).get("mcp_servers")
    except (OSError, ValueError):
        return
    for name in known if isinstance(known, dict) else ():
        yield from ("-c", f"mcp_servers.{name}.enabled=false")


def _events(printed: str) -> Iterator[_Event]:
    for line in printed.splitlines():
        try:
            event = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            yield event


def _problem(events: Sequence[_Event]) -> str:
    """Why the last turn failed; an error that a finished turn follows was overcome."""
    problem = ""
    for event in events:
        if event["type"] == "turn.completed":
            problem = ""
        elif event["type"] == "turn.failed":
            problem = _message(event.get("error")) or problem or "it gave no reason"
        elif event["type"] == "error":
            problem = _message(event) or problem
    return problem


def _last_message(events: Sequence[_Event]) -> str:
    for event in reversed(events):
        item = event.get("item")
        if event["type"] == "item.completed" and isinstance(item, Mapping):
            text = item.get("text")
            if item.get("type") == "agent_message" and isinstance(text, str):
                return text
    return ""


def _summed(turns: Sequence[object]) -> dict[str, float]:
    told = [usage.counted(**turn) for turn in turns if isinstance(turn, Mapping)]
    return {
        name: sum(turn.get(name, 0) for turn in told)
        for name in (usage.TOKENS_IN, usage.TOKENS_OUT)
        if any(name in turn for turn in told)
    }


def _of_this_call(told: _Tokens, before: _Tokens) -> dict[str, float]:
    """It tells the tokens of the whole thread; fewer than before can only be those of a turn."""
    is_of_thread = all(told.get(name, 0) >= before.get(name, 0) for name in told)
    return usage.since(told, before) if is_of_thread else dict(told)


def _message(holder: object) -> str:
    return str(holder.get("message") or "") if isinstance(holder, Mapping) else ""
