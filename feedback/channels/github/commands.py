"""Reads the command a GitHub comment gives to `@faber`, if it gives one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from feedback.channels.github import answer_text
from feedback.channels.github.speech import SpeechLine, joined, listen, visible
from runs.domain.values.questions import KNOWN_OPTIONS, Option


class CommandKind(StrEnum):
    RESUME = "resume"
    STATUS = "status"
    CANCEL = "cancel"
    HELP = "help"
    UNCLEAR = "unclear"  # FABER is addressed, and the reason says what it did not understand


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    kind: CommandKind
    run: str | None = None
    response: str | None = None  # an option as it was named; it may not be one of the request's
    feedback: str = ""  # what else is said: the answer of a bare resume, otherwise the comment
    words: str = ""  # the same with the code that was written beside it
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """One line that addresses FABER."""

    command: Command
    rest: str = ""  # words beside the option, on the same line


_ADDRESSED = re.compile(r"@faber(?:[\s,:]+(?P<rest>.*?))?[\s.!?]*", re.IGNORECASE | re.DOTALL)
# Phones and word processors make one dash out of two.
_RUN_FLAG = re.compile(r"(?<!\S)(?:--|[—–-])run(?:(?:\s+|=)(?P<id>\S+)|(?!\S))", re.IGNORECASE)
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_./-]*", re.IGNORECASE)

_NOTHING = "`@faber` stands alone; say what to do."
_TWO = "The comment holds more than one command."
_NO_RUN = "`--run` needs the id of one run, written as plain text."
_UNKNOWN = "“{}” is not a command."
_TOO_MUCH = "`@faber {}` takes nothing but `--run ID`, so “{}” is unclear."


def parse(body: str, options: Iterable[Option] = ()) -> Command | None:
    """The one command of a comment; None when FABER is not addressed.

    Options are those a request offers beyond the usual ones: `@faber postgres` is an answer only
    where postgres was on offer.
    """
    if "@faber" not in visible(body).casefold():
        return None
    speech, offered = listen(body), tuple(options)
    calls = {
        number: _call(rest, offered)
        for number, line in enumerate(speech.lines)
        if line.leads and (rest := _addressed(line.text)) is not None
    }
    if not calls:
        return None
    if not speech.is_whole:
        return _unclear(answer_text.NOT_WHOLE)
    return _one(calls, speech.lines)


def _addressed(text: str) -> str | None:
    """What is said to FABER on this line; None when the line does not address it."""
    found = _ADDRESSED.fullmatch(text)
    return (found["rest"] or "").strip() if found else None


def _one(calls: dict[int, _Mention], lines: Sequence[SpeechLine]) -> Command:
    commands = [call.command for call in calls.values()]
    unclear = [command for command in commands if command.kind is CommandKind.UNCLEAR]
    if unclear or len(set(commands)) > 1:
        return unclear[0] if unclear else _unclear(_TWO)
    command = commands[0]
    # Below a bare resume stands what a mail program adds; the answer is above it.
    is_bare = command.kind is CommandKind.RESUME and command.response is None
    heard = lines[: max(calls)] if is_bare else lines
    others = [line for number, line in enumerate(heard) if number not in calls]
    beside = " ".join(call.rest for call in calls.values() if call.rest)
    return replace(
        command,
        feedback=_with(joined((line for line in others if line.text), _source), beside),
        words=_with(joined(others, _source), beside),
    )


def _call(rest: str, options: Sequence[Option]) -> _Mention:
    flags = list(_RUN_FLAG.finditer(rest))
    ids = {flag["id"] or "" for flag in flags}
    run = ids.pop() if ids else None
    if ids or (run is not None and not _RUN_ID.fullmatch(run)):
        return _Mention(command=_unclear(_NO_RUN))
    said = " ".join(_RUN_FLAG.sub(" ", rest).split())
    word, _, more = said.partition(" ")
    call = _understood(word.rstrip(",:.!").casefold(), said, more, options)
    if call.command.kind is CommandKind.UNCLEAR:
        return call
    return replace(call, command=replace(call.command, run=run))


def _understood(word: str, said: str, more: str, options: Sequence[Option]) -> _Mention:
    if word == CommandKind.RESUME:
        return _answer(more, options, anything=True) if more else _Mention(command=_RESUME)
    if word in (CommandKind.STATUS, CommandKind.CANCEL, CommandKind.HELP):
        if more:
            return _Mention(command=_unclear(_TOO_MUCH.format(word, _short(more))))
        return _Mention(command=Command(kind=CommandKind(word)))
    if not said:
        return _Mention(command=_unclear(_NOTHING))
    return _answer(said, options, anything=False)


def _answer(said: str, options: Sequence[Option], *, anything: bool) -> _Mention:
    """An option, perhaps with words beside it; after `resume` any other text may be one."""
    offered = {option.value: option for option in (*options, *KNOWN_OPTIONS)}
    # A number is any request's: which option it means is seen later.
    number = re.match(r"(?:option\s+)?(\d{1,2})(?:$|[^\w\s]*(?:\s|$))", said, re.IGNORECASE)
    opened = answer_text.opening(said, tuple(offered.values())[: 0 if number else None])
    if number:
        name, rest = number[1], said[number.end() :]
        reason = answer_text.doubts(rest)
    elif opened:
        name, rest = _name(opened, options), opened.rest
        others = [o for o in offered.values() if o.action != opened.options[0].action]
        reason = answer_text.doubts_beside(opened, others)
    elif anything:
        return _Mention(command=replace(_RESUME, response=said))
    else:
        return _Mention(command=_unclear(_UNKNOWN.format(_short(said))))
    return _Mention(
        command=_unclear(reason) if reason else replace(_RESUME, response=name), rest=rest
    )


def _name(opened: answer_text.Opening, options: Sequence[Option]) -> str:
    """As the request calls it, or as it was typed: the request will know its aliases."""
    own = [option.value for option in opened.options if option in options]
    return own[0] if own else re.sub(r"[\s_-]+", "_", opened.name.casefold())


def _with(text: str, beside: str) -> str:
    return "\n\n".join(part for part in (text, beside) if part)


def _source(line: SpeechLine) -> str:
    return line.source


def _short(text: str) -> str:
    return f"{text[:60]}…" if len(text) > 60 else text


def _unclear(reason: str) -> Command:
    return Command(kind=CommandKind.UNCLEAR, reason=reason)


_RESUME = Command(kind=CommandKind.RESUME)
