"""Finds the response of a step in what it printed."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping

from runs.domain.responses.results import Result, failure, read_response
from runs.domain.values.plain_json import is_deep
from runs.executors.output import last_lines

# How many objects are looked at from the end; behind so much garbage nobody meant to answer.
CANDIDATES = 1_000

_STRING = r'"(?:[^"\\\x00-\x1f]++|\\.)*+"'
_SCALAR = r"[-+.0-9eE]++|true|false|null|NaN|Infinity"
# A brace in prose is rarely followed by what must follow it in JSON.
_OPENING = re.compile(r'\{(?=[ \t\r\n]*+["}])')
_TO_THE_NEXT_BRACE = re.compile(
    rf"(?:[ \t\r\n,:\[\]]++|{_SCALAR}|{_STRING})*+({_OPENING.pattern}|\}})?"
)


def last_json_object(text: str) -> dict[str, object] | None:
    """The last complete object that is not part of another; what stands around it is prose."""
    return next(_from_the_end(text), None)


def last_envelope(text: str) -> dict[str, object] | None:
    """The last object that Claude Code ends its work with, whatever it printed before or after."""
    return next(filter(_is_envelope, _from_the_end(text)), None)


def _from_the_end(text: str) -> Iterator[dict[str, object]]:
    for start, end in reversed(deque(_objects(text), maxlen=CANDIDATES)):
        try:
            found: dict[str, object] = json.loads(text[start:end])
        except (ValueError, RecursionError):
            continue
        if not is_deep(found):
            yield found


def agent_answer(stdout: str, *, step: str) -> Result:
    """What an agent answered, whether it stands in Claude Code's envelope or by itself."""
    answer = last_json_object(stdout)
    if answer is None:
        return no_answer(stdout)
    return opened(answer, step=step) if _is_envelope(answer) else read_response(answer, step=step)


def _is_envelope(answer: Mapping[str, object]) -> bool:
    return answer.get("type") == "result" and "status" not in answer


def opened(envelope: Mapping[str, object], *, step: str) -> Result:
    """What stands in Claude Code's envelope: an answer, or why there is none."""
    if failed := reported(envelope):
        return failed
    words = envelope.get("result")
    answer = envelope.get("structured_output")  # there when a schema was given and kept to
    if not isinstance(answer, dict):
        answer = last_json_object(words) if isinstance(words, str) else words
    return no_answer(str(words or "")) if answer is None else read_response(answer, step=step)


def reported(envelope: Mapping[str, object]) -> Result | None:
    """The failure that an envelope tells of, if it does."""
    if envelope.get("is_error") or envelope.get("subtype", "success") != "success":
        return reported_error(words_of_error(envelope))
    return None


def words_of_error(envelope: Mapping[str, object]) -> str:
    errors = envelope.get("errors")
    told = "\n".join(map(str, errors)) if isinstance(errors, list) else ""
    return str(envelope.get("result") or told or envelope.get("subtype") or "it gave no reason")


def reported_error(words: str) -> Result:
    said = _end_of(words)
    return failure(f"The agent reported an error: {_short(said)}", errors=[said])


def no_answer(words: str) -> Result:
    said = _end_of(words)
    return failure(
        "The agent must end with a JSON skill response, but returned none.",
        errors=[f"End of its output: {_short(said)}" if said else "The agent printed nothing."],
        details={"words": said},
    )


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where each outermost object begins and ends, found in one pass however broken the text is.

    Behind a mistake the search goes on at the mistake, never before it. Only what begins a line
    is taken from inside an object that stays open: a line cut off before it must not hide it.
    """
    position = 0
    while opening := _OPENING.search(text, position):
        begun, whole = [opening.start()], None
        position = opening.end()
        while begun:
            brace = _TO_THE_NEXT_BRACE.match(text, position)
            position = brace.end() if brace else len(text)
            if not brace or not brace[1]:
                break
            if brace[1] == "{":
                begun.append(position - 1)
                continue
            start = begun.pop()
            if not begun or text[start - 1] == "\n":
                whole = (start, position)
        if whole:
            yield whole


def _end_of(words: str) -> str:
    return "\n".join(last_lines(words, 40))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:300]}…" if len(line) > 300 else line
