"""Reads an answer from what somebody wrote; in doubt it reads none and says why."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from feedback.channels.markdown.speech import Speech, SpeechLine, joined, listen
from runs.domain.values.questions import QUESTION_MARKS, Action, FeedbackType, Option, named

NOT_WHOLE = "The comment is too long or too complex to read."
_NO_TEXT = "The comment contains no text of your own."
_NO_OPTION = "No line starts with an option, and no sentence says “I …” with one."
_NEGATED = "“{}” says what not to do, not what to do."
_CONDITION = "“{}” is conditional, and conditions don’t count as answers."
QUESTION = "“{}” is a question, not an answer."
_SEVERAL = "The comment names more than one option: {}."
_ANOTHER = "The comment also names another option: {}."

# These begin many a sentence that decides nothing: "No objections", "2 tests fail".
_WEAK = (
    *("y", "yes", "n", "no", "ok", "okay", "change", "changes", "again", "stop"),
    *("ignore", "ship", "quit", "proceed", "accept"),
)
_ABOUT_IT = re.compile(
    r"(?:is|isn't|was|wasn't|are|were|would|wouldn't|should|shouldn't|could|couldn't|can|can't|"
    r"cannot|may|might|must|has|had|have|does|doesn't|did|didn't|seems|needs|will|won't)\b",
    re.IGNORECASE,
)
_SMALL_WORDS = re.compile(
    r"(?:it|this|that|please|thanks|thank you)(?:[,:;.!—–]+|$|(?=\s+[^\w\s]))", re.IGNORECASE
)
_FIRST_PERSON = re.compile(
    r"(?:i|we)(?:'ve|'d like to|'m happy to|'re happy to|\s+(?:would like to|am happy to|"
    r"are happy to|have|do|hereby|fully|also|gladly|"
    r"(?P<chooses>choose|pick|select|take|go with|vote)(?: to| for)?))?\s+",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|once|when|whenever|after|until|till|provided|providing|assuming|"
    r"as (?:long|soon) as|only|pending|subject to|except|conditional(?:ly)?|on condition|"
    r"but|however|though|although|would|could|might|maybe|perhaps|probably|tentatively|unsure)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|neither|nor|no longer|dont|doesnt|wont|cant|\w+n't)\b", re.IGNORECASE
)
# "I approve nothing", but not "approve, nothing to add".
_NONE_OF_IT = re.compile(r"(?:of\s+)?(?:no|none|nothing|neither|nobody)\b", re.IGNORECASE)
_TAKES_BACK = re.compile(
    r"\W*(?:(?:but|and|however|though)\b\W*)?"
    r"(?:only|if|unless|provided|assuming|as long as|wait|hold)\b",
    re.IGNORECASE,
)
_GOING_ON = re.compile(r"\b(?:approv\w+|merge|proceed|go ahead|continue|ship)\b", re.IGNORECASE)
_PIECE = re.compile(r"[^\s,:;.!—–)|]+[,:;.!—–)|]*")
# Not the one inside an address.
_WONDERS = re.compile(rf"[{QUESTION_MARKS}][!.)\]}}\"'“”‘’»*_`{QUESTION_MARKS}]{{0,20}}(?:\s|\Z)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CLAUSE_END = re.compile(r"[,:;.!—–|]|\s-\s|\b(?:because|since|as|so)\b", re.IGNORECASE)
_STOPS = ",:;.!—–)|"
_HARD_STOPS = ":;.!—–|"
_AROUND = "\"'“”‘’,:;.!—–)| "
_MARKS = " \t*_~,:;.!—–)|-"
_MAX_PIECES = 12  # of an option's name
_EXPLAINED = (Action.REVISE, Action.ABORT)  # what follows them is why


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What to answer with, or the reason why nothing is answered."""

    response: str | None
    comment: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An option at the beginning of a text, as it was said, and what follows it."""

    options: tuple[Option, ...]
    name: str
    said: str  # the name with what stands around it
    rest: str

    @property
    def stops(self) -> bool:
        """Whether it stands apart from the words after it."""
        return self.said[-1] in _STOPS or not self.rest[:1].isalnum()

    @property
    def stops_hard(self) -> bool:
        return self.said[-1] in _HARD_STOPS or self.rest[:1] in ("", "-", *_HARD_STOPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    opening: Opening
    sentence: str
    line: int
    begins: bool  # the line, so that the words after it are the comment


def read(text: str, feedback_type: FeedbackType, options: Iterable[Option]) -> Reading:
    """The one answer a text gives without doubt."""
    speech, offered = listen(text), tuple(options)
    words = joined(speech.lines, lambda line: line.source)
    if not speech.is_whole:
        return _doubt(NOT_WHOLE)
    if all(line.is_quoted or not line.source for line in speech.lines):
        return _doubt(_NO_TEXT)
    if feedback_type.takes_text:
        return Reading(response=words)
    found = list(_findings(speech, offered))
    if not found:
        return _doubt(_why_nothing(speech, offered))
    counted = [each for each in found if _counts(each, found[0])]
    if reason := _objection(counted, speech, offered):
        return _doubt(reason)
    return _answer(found[0], speech, words)


def opening(text: str, options: Sequence[Option], *, weakly: bool = True) -> Opening | None:
    """The option a text begins with, the longest name first."""
    start = re.match(r"option\s+(?=\d)", text, re.IGNORECASE)
    begin = start.end() if start else 0
    pieces = list(islice(_PIECE.finditer(text, begin), _MAX_PIECES))
    for piece in reversed(pieces):
        said, rest = text[: piece.end()], text[piece.end() :]
        name = text[begin : piece.end()].strip(_AROUND)
        # "2.5" is no option with words after it.
        if said.endswith(".") and rest[:1].isalnum():
            continue
        if options_named := named(name, options):
            found = Opening(options=tuple(options_named), name=name, said=said, rest=rest.lstrip())
            return _meant(found, weakly=weakly)
    return None


def asks(text: str) -> bool:
    """Whether it ends as a question does, or somebody wonders in between."""
    return bool(_WONDERS.search(text))


def doubts(text: str, options: Sequence[Option] = (), *, negated: bool | None = None) -> str:
    """Why a sentence with an option in it does not choose it, or nothing."""
    if asks(text):
        return QUESTION.format(_short(text))
    if negated or (negated is None and _NEGATION.search(_plain(text))):
        return _NEGATED.format(_short(text))
    if _CONDITIONAL.search(text):
        return _CONDITION.format(_short(text))
    others = [option.value for option in options if _mentions(text, option)]
    return _ANOTHER.format(", ".join(others)) if others else ""


def _meant(found: Opening, *, weakly: bool) -> Opening | None:
    word = found.name.casefold()
    if found.stops and (weakly or word not in _WEAK):
        return found
    if word not in _WEAK and not word.isdecimal():
        return None if _ABOUT_IT.match(_plain(found.rest)) else found
    small = _SMALL_WORDS.match(found.rest)
    if not (weakly and small):
        return None
    return replace(found, said=f"{found.said} {small[0]}", rest=found.rest[small.end() :])


def _findings(speech: Speech, options: Sequence[Option]) -> Iterator[_Found]:
    for number, line in enumerate(speech.lines):
        for index, sentence in enumerate(_SENTENCE_END.split(line.text)):
            person = _FIRST_PERSON.match(_plain(sentence))
            if person:
                said = sentence[person.end() :]
                opened = opening(said, options, weakly=bool(person["chooses"]))
            elif index == 0:
                opened = opening(line.text, options)
            else:
                opened = opening(sentence, options, weakly=False)
                opened = None if opened and opened.rest else opened
            if opened:
                yield _Found(
                    opening=opened, sentence=sentence, line=number, begins=not (person or index)
                )


def _counts(found: _Found, first: _Found) -> bool:
    """Below "request_changes", a line like "Reject empty input" is what should change."""
    explained = first.line == 0 and first.opening.options[0].action in _EXPLAINED
    return found is first or found.opening.stops or not found.begins or not explained


def _objection(found: Sequence[_Found], speech: Speech, options: Sequence[Option]) -> str:
    values = {option.value: option for each in found for option in each.opening.options}
    if len(values) > 1:
        return _SEVERAL.format(", ".join(values))
    (option,) = values.values()
    others = [other for other in options if other.value != option.value]
    reasons = (doubts_beside(each.opening, others) for each in found)
    return next((reason for reason in reasons if reason), "") or _taken_back(option, found, speech)


def doubts_beside(opened: Opening, others: Sequence[Option]) -> str:
    """Why the words after an option take it back, or nothing."""
    if opened.rest and not opened.rest.strip(f" {QUESTION_MARKS}"):
        return QUESTION.format(_short(opened.said + opened.rest))
    rest = "" if opened.said[-1] in ".!" else _SENTENCE_END.split(opened.rest, maxsplit=1)[0]
    if any(option.action not in _EXPLAINED for option in opened.options):
        is_none = not opened.stops and _NONE_OF_IT.match(rest)
        return doubts(rest, others, negated=True if is_none else None)
    # What refuses is followed by its reasons, and those are full of "not" and "if".
    if opened.stops_hard or not rest:
        return ""
    until = _CLAUSE_END.split(rest, maxsplit=1)[0]
    scope = until if not opened.stops and not opened.options[0].needs_words else rest.split()[0]
    mark = "?" if asks(rest) else ""
    is_negated = rest.split()[0].casefold() == "not"
    return doubts(f"{scope}{mark}", others, negated=is_negated)


def _taken_back(option: Option, found: Sequence[_Found], speech: Speech) -> str:
    if option.action in _EXPLAINED:
        return ""
    decisive = {each.sentence for each in found}
    for sentence in _sentences(speech):
        if sentence in decisive:
            continue
        if _TAKES_BACK.match(sentence):
            return _CONDITION.format(_short(sentence))
        if _is_negated(sentence, (option,)):
            return _NEGATED.format(_short(sentence))
    return ""


def _answer(found: _Found, speech: Speech, words: str) -> Reading:
    option, opened = found.opening.options[0], found.opening
    spoken = (said for said in _sentences(speech) if said != found.sentence)
    code = [line.source for line in speech.lines if not line.text and not line.is_quoted]
    quotes = [line.source for line in speech.lines if line.is_quoted]
    at = speech.lines[found.line]
    has_words = _says_something(opened.rest, *spoken, *code)
    if not has_words:
        comment = "\n\n".join(quotes)
    elif found.begins and (opened.stops or _bare(opened.name) == _bare(option.value)):
        comment = joined(
            speech.lines, lambda line: _after(line, opened.said) if line is at else line.source
        )
    else:  # part of a sentence, which says less without it
        comment = words
    if option.needs_words and not has_words:
        return _doubt(f"Say what should change when you choose {option.value}.")
    return Reading(response=option.value, comment=comment.strip())


def _says_something(*texts: str) -> bool:
    return bool(re.search(r"[\w\x80-\U0010ffff]", " ".join(texts)))


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _after(line: SpeechLine, said: str) -> str:
    """The written line without the option it begins with, whatever emphasis stood in between."""
    at = 0
    for character in said:
        at = line.source.find(character, at) + 1 or len(line.source)
    return line.source[at:].lstrip(_MARKS)


def _why_nothing(speech: Speech, options: Sequence[Option]) -> str:
    for sentence in _sentences(speech):
        if _is_negated(sentence, options):
            return _NEGATED.format(_short(sentence))
        if asks(sentence) and any(_mentions(sentence, option) for option in options):
            return QUESTION.format(_short(sentence))
    return _NO_OPTION


def _is_negated(sentence: str, options: Sequence[Option]) -> bool:
    plain = _plain(sentence)
    negation = _NEGATION.search(plain)
    if not negation:
        return False
    after = plain[negation.end() :]
    goes_on = any(option.action is Action.CONTINUE for option in options)
    return any(_mentions(after, option) for option in options) or bool(
        goes_on and _GOING_ON.search(after)
    )


def _mentions(text: str, option: Option) -> bool:
    name = re.escape(option.value.replace("_", " ")).replace("\\ ", r"[\s_-]")
    return len(option.value) > 2 and bool(re.search(rf"\b{name}", text, re.IGNORECASE))


def _sentences(speech: Speech) -> Iterator[str]:
    for line in speech.lines:
        yield from _SENTENCE_END.split(line.text)


def _plain(text: str) -> str:
    return text.replace("’", "'").replace("‘", "'")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:80]}…" if len(line) > 80 else line


def _doubt(reason: str) -> Reading:
    return Reading(response=None, reason=reason)
