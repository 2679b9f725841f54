"""Reads the command a GitHub comment gives to `@faber`, if it gives one."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from feedback.channels.markdown import answer_text
from feedback.channels.markdown.speech import (
    MOST_READ,
    UNSPOKEN,
    SpeechLine,
    joined,
    listen,
    visible,
)
from runs.domain.values import text as words
from runs.domain.values.questions import KNOWN_OPTIONS, QUESTION_MARKS, Option


class CommandKind(StrEnum):
    RESUME = "resume"
    STATUS = "status"
    CANCEL = "cancel"
    START = "start"
    ASK = "ask"
    DELEGATE = "delegate"
    HELP = "help"
    UNCLEAR = "unclear"  # FABER is addressed, and the reason says what it did not understand


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    kind: CommandKind
    run: str | None = None
    response: str | None = None  # an option as it was named; it may not be one of the request's
    workflow: str | None = None  # that a start names, as its id
    to: str | None = None  # whom a request is handed over to
    # What else is written, code and quotes with it: the answer of a bare resume, or the comment.
    feedback: str = ""
    has_words: bool = False  # there is more in it than quotes
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """One line that addresses FABER."""

    command: Command
    rest: str = ""  # words beside the option, on the same line


_NAME = "@faber"
# Phones and word processors make one dash out of two.
_RUN_FLAG = re.compile(r"(?<!\S)(?:--|[—–-])run(?:(?:\s+|=)(?P<id>\S+)|(?!\S))", re.IGNORECASE)
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_./-]*", re.IGNORECASE)
_CLOSING = re.compile(r"^[*_]+(?=\s|$)")  # of emphasis that began before
_WORKFLOW_ID = re.compile(r"[a-z][a-z0-9_-]{0,99}")

_NOTHING = "`@faber` needs a command."
_TWO = "The comment contains more than one command."
_NO_RUN = "`--run` needs one run id as plain text."
_UNKNOWN = "“{}” is not a command."
_TOO_MUCH = "`@faber {}` only accepts `--run ID`, not “{}”."
_NO_WORKFLOW = "`@faber start` accepts one workflow id as plain text, not “{}”."
_NOBODY = "`@faber delegate` needs the name of an account."
_NEW_RUN = "`@faber start` starts a new run and does not accept `--run`."


def parse(body: str, options: Iterable[Option] = ()) -> Command | None:
    """The one command of a comment; None when FABER is not addressed.

    Options are those a request offers beyond the usual ones: `@faber postgres` is an answer only
    where postgres was on offer.
    """
    if _NAME not in visible(body[:MOST_READ]).casefold():
        return None
    speech, offered = listen(body), tuple(options)
    calls = {
        number: _call(rest, offered, line.source)
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
    name, rest = text[: len(_NAME)], text[len(_NAME) :]
    is_apart = rest[:1].isspace() or rest[:1] in ",:" or not rest.strip(f".! {QUESTION_MARKS}")
    if name.casefold() != _NAME or not is_apart:
        return None
    # Words are taken apart and put together, as a pattern would try each space as the last one.
    return " ".join(rest.split()).lstrip(",: ").rstrip(".! ")


def _one(calls: dict[int, _Mention], lines: Sequence[SpeechLine]) -> Command:
    commands = [call.command for call in calls.values()]
    unclear = [command for command in commands if command.kind is CommandKind.UNCLEAR]
    if unclear or len(set(commands)) > 1:
        return unclear[0] if unclear else _unclear(_TWO)
    command = commands[0]
    beside = " ".join(call.rest for call in calls.values() if call.rest)
    # Below a bare resume stands what a mail program adds; the answer is above it.
    is_bare = command == replace(_RESUME, run=command.run) and not words.clean(beside)
    heard = lines[: max(calls)] if is_bare else lines
    others = {number: line for number, line in enumerate(heard) if number not in calls}
    return replace(
        command,
        feedback=_in_order(others, min(calls), beside),
        has_words=bool(words.clean(beside))
        or any(line.source and not line.is_quoted for line in others.values()),
    )


def _in_order(others: dict[int, SpeechLine], call: int, beside: str) -> str:
    """As it was written: "use this:" beside the command stands before what it speaks of."""
    if not beside:
        return joined(others.values(), _source)
    above = [line for number, line in others.items() if number < call]
    below = [line for number, line in others.items() if number > call]
    parts = (joined(above, _source), beside, joined(below, _source))
    return "\n\n".join(filter(None, parts))


def _call(rest: str, options: Sequence[Option], source: str) -> _Mention:
    flags = list(_RUN_FLAG.finditer(rest))
    ids = {flag["id"] or "" for flag in flags}
    run = ids.pop() if ids else None
    if ids or (run is not None and not _RUN_ID.fullmatch(run)):
        return _Mention(command=_unclear(_NO_RUN))
    said = " ".join(_RUN_FLAG.sub(" ", rest).split())
    call = _understood(said, options)
    if call.command.kind is CommandKind.UNCLEAR:
        return call
    if call.command.kind is CommandKind.START and run:
        return _Mention(command=_unclear(_NEW_RUN))
    command, line = replace(call.command, run=run), _without_flags(source, len(flags))
    return replace(call, command=command, rest=_written(line, said, call.rest))


def _without_flags(source: str, count: int) -> str:
    """In doubt with them: what looks like one more may stand in code."""
    is_sure = len(_RUN_FLAG.findall(source)) == count
    return _RUN_FLAG.sub(" ", source) if is_sure else source


def _written(source: str, said: str, rest: str) -> str:
    """The rest of what is said as it was written, with the code, links and marks that are in it."""
    if not rest:
        return ""
    said_before = _letters(said)[: -len(_letters(rest))]
    at = source.find("@") + len(_NAME)
    for letter in said_before:  # whatever marks stand in between
        at = source.find(letter, at) + 1
    return _CLOSING.sub("", source[at:]).strip().removesuffix(_opening_marks(source))


def _letters(text: str) -> str:
    return "".join(text.split())


def _opening_marks(source: str) -> str:
    return source[: len(source) - len(source.lstrip("*_"))][::-1]


def _understood(said: str, options: Sequence[Option]) -> _Mention:
    first, _, more = said.partition(" ")
    bare = first.rstrip(f",:.!{QUESTION_MARKS}").casefold()
    more = more if more.strip(f" {QUESTION_MARKS}") else ""
    is_asked = answer_text.asks(said)
    if not bare and not more:
        return _Mention(command=_unclear(_NOTHING))
    if bare in (CommandKind.STATUS, CommandKind.CANCEL, CommandKind.HELP):
        if more:
            return _Mention(command=_unclear(_TOO_MUCH.format(bare, _short(more))))
        if is_asked and bare == CommandKind.CANCEL:
            return _Mention(command=_unclear(answer_text.QUESTION.format(said)))
        return _Mention(command=Command(kind=CommandKind(bare)))
    if bare in _READERS:
        return _READERS[bare](said, more)
    if bare != CommandKind.RESUME:
        return _answer(said, options, anything=False)
    if not more and is_asked:
        return _Mention(command=_unclear(answer_text.QUESTION.format(said)))
    return _answer(more, options, anything=True) if more else _Mention(command=_RESUME)


def _delegate(said: str, more: str) -> _Mention:
    """A name, as GitHub mentions it or not; the other words are a comment for them."""
    name, _, rest = more.partition(" ")
    to = name.removeprefix("@").rstrip(",:.!")
    if answer_text.asks(said):
        return _Mention(command=_unclear(answer_text.QUESTION.format(said)))
    if not to:
        return _Mention(command=_unclear(_NOBODY))
    return _Mention(command=Command(kind=CommandKind.DELEGATE, to=to), rest=rest)


def _start(said: str, named: str) -> _Mention:
    workflow = named.casefold() or None
    if answer_text.asks(said):
        command = _unclear(answer_text.QUESTION.format(said))
    elif workflow and not _WORKFLOW_ID.fullmatch(workflow):
        command = _unclear(_NO_WORKFLOW.format(_short(named)))
    else:
        command = Command(kind=CommandKind.START, workflow=workflow)
    return _Mention(command=command)


def _ask(_said: str, more: str) -> _Mention:
    """With what else is written, all of it is the question."""
    return _Mention(command=Command(kind=CommandKind.ASK), rest=more)


_READERS: dict[str, Callable[[str, str], _Mention]] = {
    CommandKind.START: _start,
    CommandKind.ASK: _ask,
    CommandKind.DELEGATE: _delegate,
}


def _answer(said: str, options: Sequence[Option], *, anything: bool) -> _Mention:
    """An option, perhaps with words beside it; after `resume` any other text may be one."""
    offered = {option.value: option for option in (*options, *KNOWN_OPTIONS)}
    bare = said.rstrip(f" {QUESTION_MARKS}")
    marks = said[len(bare) :].strip()
    # A number is any request's: which option it means is seen later.
    number = re.match(r"(?:option\s+)?(\d{1,2})(?:$|[^\w\s]*(?:\s|$))", bare, re.IGNORECASE)
    opened = answer_text.opening(bare, tuple(offered.values())[: 0 if number else None])
    if number:
        name, rest = number[1], bare[number.end() :] + marks
        reason = answer_text.doubts(said if marks else rest)
    elif opened:
        opened = replace(opened, rest=opened.rest + marks)
        name, rest = _name(opened, options), opened.rest
        others = [o for o in offered.values() if o.action != opened.options[0].action]
        reason = answer_text.doubts_beside(opened, others)
    elif anything and UNSPOKEN in said:  # code names no option, but may be part of a text
        return _Mention(command=_RESUME, rest=said)
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


def _source(line: SpeechLine) -> str:
    return line.source


def _short(text: str) -> str:
    return f"{text[:60]}…" if len(text) > 60 else text


def _unclear(reason: str) -> Command:
    return Command(kind=CommandKind.UNCLEAR, reason=reason)


_RESUME = Command(kind=CommandKind.RESUME)
