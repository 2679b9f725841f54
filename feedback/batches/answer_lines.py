"""Reads answers for many runs from one text: which line is for which run, and what it says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from runs.domain.planning.batch import Member
from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.questions import QUESTION_MARKS, FeedbackType, Option, resolve

EXAMPLE = "#124: approve"
_LINE = re.compile(
    r"(?:[-*•]\s+)?(?:run\b\s*)?#?(?P<name>[A-Za-z0-9_][A-Za-z0-9_./-]*)\s*[:=]\s*(?P<said>.+)",
    re.IGNORECASE | re.DOTALL,
)
_UUID_PREFIX = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
_EVERYBODY = "all"


class LineOutcome(StrEnum):
    """What became of one line, or of one run that a line was meant for."""

    APPLIED = "applied"
    UNKNOWN_RUN = "unknown_run"
    NOT_AWAITING = "not_awaiting"
    INVALID_RESPONSE = "invalid_response"
    AMBIGUOUS = "ambiguous"
    UNREADABLE = "unreadable"
    ALREADY_ANSWERED = "already_answered"
    NOT_ALLOWED = "not_allowed"
    STALE = "stale"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """What is to be done with one run; `refused` says why nothing is."""

    line: int  # counted from one
    run_id: str = ""
    response: str = ""
    comment: str = ""
    refused: LineOutcome | None = None
    message: str = ""

    def refuse(self, why: LineOutcome, message: str) -> "BatchAnswer":
        return replace(self, refused=why, message=message)


def read(text: str, members: Sequence[Member]) -> list[BatchAnswer]:
    """Every line with what it means for which run; what is in doubt is refused, never guessed."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return _understood(
        [
            _written(number, line.strip())
            for number, line in enumerate(lines, start=1)
            if line.strip() and not line.strip().startswith("```")
        ],
        members,
    )


def listed(
    answers: Mapping[str, Mapping[str, str]], members: Sequence[Member]
) -> list[BatchAnswer]:
    """The same for answers that a program names one by one: run or work id → what it says."""
    return _understood(
        [
            _Line(
                number=number,
                name=name.strip().lstrip("#"),
                said=said.get("response", ""),
                comment=said.get("comment", ""),
            )
            for number, (name, said) in enumerate(answers.items(), start=1)
        ],
        members,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    number: int
    name: str = ""  # empty when the line cannot be read
    said: str = ""
    comment: str | None = None  # None when it is still part of what was said

    @property
    def is_for_all(self) -> bool:
        return self.name.casefold() == _EVERYBODY


def _written(number: int, line: str) -> _Line:
    found = _LINE.fullmatch(line)
    if not found:
        return _Line(number=number, said=line)
    return _Line(number=number, name=found["name"], said=found["said"].strip())


def _understood(lines: Sequence[_Line], members: Sequence[Member]) -> list[BatchAnswer]:
    named = [_for_one(line, members) for line in lines if not line.is_for_all]
    meant = {answer.run_id for answer in named}
    # Whoever is named on a line of their own is not meant by `all`.
    rest = [member for member in members if member.is_open and member.run_id not in meant]
    everybody = [answer for line in lines if line.is_for_all for answer in _for_all(line, rest)]
    return sorted(_settled([*named, *everybody]), key=lambda answer: answer.line)


def _for_one(line: _Line, members: Sequence[Member]) -> BatchAnswer:
    given = BatchAnswer(line=line.number)
    if not line.name:
        unlike = f"{_quoted(line.said)} is not an answer. Use the form `{EXAMPLE}`."
        return given.refuse(LineOutcome.UNREADABLE, unlike)
    found = _named(line.name, members)
    if not found:
        return given.refuse(LineOutcome.UNKNOWN_RUN, f"This batch has no run {line.name!r}.")
    if len(found) > 1:
        ids = ", ".join(member.run_id for member in found)
        return given.refuse(LineOutcome.AMBIGUOUS, f"{line.name!r} matches {ids}. Use a run id.")
    return _said(line, found[0])


def _for_all(line: _Line, members: Sequence[Member]) -> list[BatchAnswer]:
    if not members:
        nobody = BatchAnswer(line=line.number)
        return [
            nobody.refuse(
                LineOutcome.NOT_AWAITING, "No other run of this batch has an open request."
            )
        ]
    if len({_kind(member) for member in members}) == 1:
        return [_said(line, member) for member in members]
    return [_said_to_many(line, member) for member in members]


def _said_to_many(line: _Line, member: Member) -> BatchAnswer:
    """Where runs ask different things, only the full name of an option means the same to each."""
    value, comment = _split(line.said, member.options)
    is_text = _type(member).takes_text
    if is_text or not any(_same(option.value, value) for option in member.options):
        return BatchAnswer(line=line.number, run_id=member.run_id).refuse(
            LineOutcome.INVALID_RESPONSE, f"Run {member.name} was skipped: it {_asks(member)}."
        )
    return _said(replace(line, said=value, comment=line.comment or comment), member)


def _said(line: _Line, member: Member) -> BatchAnswer:
    """The answer to one run, checked against what it offers."""
    given = BatchAnswer(line=line.number, run_id=member.run_id)
    if not member.is_open:
        nothing = f"Run {member.name} is {member.status.label} and has no open request."
        return given.refuse(LineOutcome.NOT_AWAITING, nothing)
    said, comment = (
        _parted(line.said, member) if line.comment is None else (line.said, line.comment)
    )
    try:
        choice = resolve(_type(member), member.options, said)
    except InvalidAnswer as error:
        return given.refuse(LineOutcome.INVALID_RESPONSE, f"Run {member.name}: {error}")
    if choice.needs_words and not comment.strip():
        wordless = f"Run {member.name}: say what should change after {choice.response}."
        return given.refuse(LineOutcome.INVALID_RESPONSE, wordless)
    return replace(given, response=choice.response, comment=comment)


def _settled(answers: Sequence[BatchAnswer]) -> list[BatchAnswer]:
    """One answer per run: said twice it counts once, and a contradiction counts for nothing."""
    by_run: dict[str, list[BatchAnswer]] = {}
    for answer in answers:
        if answer.refused is None:
            by_run.setdefault(answer.run_id, []).append(answer)
    return [
        answer if answer.refused else _beside(answer, by_run[answer.run_id]) for answer in answers
    ]


def _beside(answer: BatchAnswer, same_run: Sequence[BatchAnswer]) -> BatchAnswer:
    if len({(other.response, other.comment) for other in same_run}) > 1:
        lines = " and ".join(str(other.line) for other in same_run)
        return answer.refuse(
            LineOutcome.AMBIGUOUS,
            f"Lines {lines} contradict each other for one run; none was applied.",
        )
    if answer is not same_run[0]:
        return answer.refuse(
            LineOutcome.ALREADY_ANSWERED, f"Line {same_run[0].line} has the same answer."
        )
    return answer


# Which run is meant


def _named(name: str, members: Sequence[Member]) -> list[Member]:
    """All it can mean; a name that fits in two ways means both."""
    wanted = name.casefold()
    return [
        member
        for member in members
        if (member.work_id and member.work_id.casefold() == wanted)
        or member.run_id == wanted
        or (_UUID_PREFIX.fullmatch(wanted) and member.uuid.startswith(wanted))
    ]


# What is said


def _parted(said: str, member: Member) -> tuple[str, str]:
    if _type(member).takes_text:
        return said, ""
    return _split(said, member.options)


def _split(said: str, options: Sequence[Option]) -> tuple[str, str]:
    """The response and the comment: an option's whole name, else the first word."""
    for option in sorted(options, key=lambda option: -len(option.value)):
        words = re.split(r"[\s_-]+", option.value)
        pattern = r"[\s_-]+".join(map(re.escape, words)) + r"(?![\w-])"
        if found := re.match(pattern, said, re.IGNORECASE):
            rest = said[found.end() :]
            # "approve?" asks whether to, and is no option.
            asks = rest.lstrip()[:1] if rest.lstrip()[:1] in QUESTION_MARKS else ""
            return found[0] + asks, _comment(rest)
    word, _, rest = said.partition(" ")
    bare = word.rstrip(",;:.!")
    return bare or word, _comment(rest)


def _comment(rest: str) -> str:
    return rest.strip().lstrip("-–—:,;.! ").strip()


def _type(member: Member) -> FeedbackType:
    return member.asks.type if member.asks else FeedbackType.ERROR_RESOLUTION


def _kind(member: Member) -> tuple[str, ...]:
    """Equal where one word means the same; free text only where the question is the same."""
    if member.asks is None:
        return ("failed",)
    if member.asks.type.takes_text:
        return (member.asks.type.value, member.asks.sameness)
    return member.asks.kind


def _same(value: str, said: str) -> bool:
    return re.sub(r"[\s_-]+", "_", value).casefold() == re.sub(r"[\s_-]+", "_", said).casefold()


def _asks(member: Member) -> str:
    if member.asks and member.asks.type.takes_text:
        return "needs a text answer"
    return f"offers {', '.join(option.value for option in member.options)}"


def _quoted(text: str) -> str:
    return f"'{text[:60]}…'" if len(text) > 60 else f"'{text}'"
