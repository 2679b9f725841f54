"""Claude Code without a terminal: `claude -p --output-format json`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from runs.domain.responses import usage
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.responses.schema import SKILL_RESPONSE
from runs.domain.values.secrets.redaction import redact
from runs.executors.agents.adapters import Call, Counted, Said, has, session_name, without
from runs.executors.orders import Outcome
from runs.executors.printed_response import (
    agent_answer,
    last_envelope,
    opened,
    reported,
    words_of_error,
)

SCHEMA = json.dumps(SKILL_RESPONSE, separators=(",", ":"))
# Linux takes no argument of 128 KiB; what is longer stands in the prompt alone.
LONGEST_ARGUMENT = 100_000

_SESSION_FLAGS = (
    *("--session-id", "--resume", "-r", "--continue", "-c"),
    *("--from-pr", "--no-session-persistence"),
)
_INSTRUCTION_FLAGS = ("--append-system-prompt", "--append-system-prompt-file")
# What would let an agent do more than read, with how many words stand behind each.
_POWERS: Mapping[str, int | None] = {
    **dict.fromkeys(("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"), 0),
    **dict.fromkeys(("--permission-mode", "--permission-prompt-tool", "--json-schema"), 1),
    **dict.fromkeys(("--allowedTools", "--allowed-tools", "--tools", "--mcp-config"), None),
    "--strict-mcp-config": 0,
}
_READS_ONLY = ("--permission-mode", "plan", "--tools", "Read,Grep,Glob", "--strict-mcp-config")
_REFUSAL = re.compile(r"No conversation found with session ID|Session ID \S+ is already in use")
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OF_MODELS = {
    usage.TOKENS_IN: ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"),
    usage.TOKENS_OUT: ("outputTokens",),
}

_Envelope = Mapping[str, object]
_Numbers = Mapping[str, float]


class Claude:
    # Its first turn waits for the MCP servers: one of them may be its permission prompt.
    environment: Mapping[str, str] = {"MCP_CONNECTION_NONBLOCKING": "0"}

    def takes_sessions(self, command: Sequence[str]) -> bool:
        return not has(command, *_SESSION_FLAGS)

    def names_sessions(self, command: Sequence[str]) -> bool:
        return self.takes_sessions(command)

    def argv(self, command: Sequence[str], call: Call) -> tuple[str, ...]:
        if not call.only_answers:
            return (*command, *_flags(command, call))
        reading = (*without(command, _POWERS), *_READS_ONLY)
        return (*reading, *_flags(reading, call))

    def answer(self, printed: str, *, step: str) -> Result:
        envelope = last_envelope(printed)
        if envelope is None:
            return agent_answer(printed, step=step)
        return _with_refused_tools(opened(envelope, step=step), envelope)

    def words(self, printed: str) -> str | Result:
        envelope = last_envelope(printed)
        if envelope is None:
            return printed.strip()
        return reported(envelope) or str(envelope.get("result") or "").strip()

    def said(self, printed: str, counted: Counted) -> Said:
        return Said(session=_session(printed), usage={"agent": "claude", **used(printed, counted)})

    def refuses_session(self, outcome: Outcome) -> bool:
        if outcome.result.status is not ResultStatus.FAILURE or outcome.ended:
            return False
        envelope = last_envelope(outcome.stdout)
        if envelope is None:
            said = outcome.stderr + outcome.stdout
        else:
            said = outcome.stderr + (words_of_error(envelope) if envelope.get("is_error") else "")
        return bool(_REFUSAL.search(said))


def used(printed: str, counted: Counted) -> dict[str, float]:
    """What this call cost and took, as far as an envelope tells."""
    envelope = last_envelope(printed) or {}
    before = counted.get(_session(printed), {})
    return _of_this_call(_usage(envelope), _of_all_models(envelope), before)


def _session(printed: str) -> str:
    return session_name((last_envelope(printed) or {}).get("session_id"))


def _flags(command: Sequence[str], call: Call) -> Iterator[str]:
    if not has(command, "-p", "--print"):
        yield "-p"
    if not has(command, "--output-format"):
        yield from ("--output-format", "json")
    if call.session:
        yield from ("--resume", call.session)
    elif call.new_session:
        yield from ("--session-id", call.new_session)
    instruction = redact(call.instruction)  # everybody on the machine can read a command line
    fits = 0 < len(instruction.encode(errors="replace")) <= LONGEST_ARGUMENT
    if fits and not has(command, *_INSTRUCTION_FLAGS):
        yield from ("--append-system-prompt", instruction)
    if not call.only_answers and not has(command, "--json-schema"):
        yield from ("--json-schema", SCHEMA)


def _usage(envelope: _Envelope) -> dict[str, float]:
    said = envelope.get("usage")
    tokens = usage.counted(**said) if isinstance(said, Mapping) else {}
    # Those from the cache too: it is what the agent read.
    read = [tokens[name] for name in _TOKENS_IN if name in tokens]
    return usage.counted(
        **{
            usage.COST: envelope.get("total_cost_usd"),
            usage.TURNS: envelope.get("num_turns"),
            usage.TOKENS_IN: sum(read) if read else None,
            usage.TOKENS_OUT: tokens.get("output_tokens"),
        }
    )


def _of_this_call(used: _Numbers, whole: _Numbers, before: _Numbers) -> dict[str, float]:
    """The newer ones tell the cost of the whole session, the older ones that of the call.

    Tokens tell them apart: `usage` is of the call in both, `modelUsage` goes with the cost. It is
    of the session when what was counted before and what the call used both fit into it.
    """
    fits = all(whole[name] >= before.get(name, 0) + used.get(name, 0) for name in whole)
    cost = {usage.COST: used[usage.COST]} if fits and usage.COST in used else {}
    return {**used, **usage.since(cost, before)}


def _of_all_models(envelope: _Envelope) -> dict[str, float]:
    """The tokens of its helpers too, which `usage` leaves out."""
    models = envelope.get("modelUsage")
    told = usage.total(models.values() if isinstance(models, Mapping) else ())
    return {
        name: sum(told[key] for key in keys if key in told) for name, keys in _OF_MODELS.items()
    }


def _with_refused_tools(result: Result, envelope: _Envelope) -> Result:
    """Nobody can be asked for a permission in this mode, so a failure says what was missing."""
    denials = envelope.get("permission_denials")
    names = [
        str(denial.get("tool_name"))
        for denial in (denials if isinstance(denials, list) else [])
        if isinstance(denial, Mapping) and denial.get("tool_name")
    ]
    if not names or result.status is not ResultStatus.FAILURE:
        return result
    advice = f"Allow the agent these tools: {', '.join(dict.fromkeys(names))}."
    return replace(result, suggested_fixes=(*result.suggested_fixes, advice))
