"""What can be asked, which answers count, and what each makes the run do."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.forms.filling import Filled, fill
from runs.domain.values.forms.questions import FormQuestion, is_typed
from runs.domain.values.forms.texts import as_text, read_text
from runs.domain.values.moments.timing import WHENEVER, Timing
from runs.domain.values.text import visible


class FeedbackType(StrEnum):
    APPROVAL = "approval"
    CONFIRMATION = "confirmation"
    SELECTION = "selection"
    CLARIFICATION = "clarification"
    REVIEW = "review"
    ERROR_RESOLUTION = "error_resolution"

    @property
    def label(self) -> str:
        return self.value.replace("_", " ").capitalize()

    @property
    def takes_text(self) -> bool:
        """Whether people answer in their own words; options beside that only spare them."""
        return self is FeedbackType.CLARIFICATION

    @property
    def is_named_by_question(self) -> bool:
        """Whether people know what it is about by the question, and not by the work."""
        return self in (FeedbackType.CLARIFICATION, FeedbackType.SELECTION)

    @property
    def approves(self) -> bool:
        """Whether an answer grants or denies an approval."""
        return self in (FeedbackType.APPROVAL, FeedbackType.CONFIRMATION, FeedbackType.REVIEW)


class Action(StrEnum):
    CONTINUE = "continue"
    REVISE = "revise"
    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"
    ANSWER = "answer"


class Gate(StrEnum):
    """Where the run stands when it asks; with the action it decides where the run goes on."""

    PHASE = "phase"  # before a phase
    BEFORE_STEP = "before_step"
    AFTER_STEP = "after_step"  # what the step made is shown
    WARNING = "warning"
    FAILURE = "failure"
    INPUT = "input"  # the step itself needs an answer
    CHECK_IN = "check_in"
    BUDGET = "budget"  # what agents may cost is used up


class ItemKind(StrEnum):
    """How much a reviewer means a line comment."""

    MUST = "must"
    SHOULD = "should"
    QUESTION = "question"
    SUGGESTION = "suggestion"  # with the lines that should stand there instead

    @property
    def label(self) -> str:
        asks_for_change = self in (ItemKind.MUST, ItemKind.SHOULD)
        return f"{self.value.capitalize()}{' change' if asks_for_change else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    action: Action
    description: str = ""
    needs_words: bool = False

    @property
    def label(self) -> str:
        return spoken(self.value)

    @property
    def weight(self) -> str:
        """How a button for it looks: what ends the run warns, what goes on may be suggested."""
        if self.action is Action.ABORT:
            return "stop"
        return "main" if self.action in (Action.CONTINUE, Action.RETRY) else "plain"

    @property
    def has_plain_words(self) -> bool:
        """Whether its description is the one every option of this name has."""
        known = _KNOWN.get(self.value)
        return known is not None and self.description == known.description


def spoken(value: str) -> str:
    """An option's name as a button says it; an identifier such as `eu-west-1` is one already."""
    if re.search(r"[\d./:-]", value):
        return value
    words = value.replace("_", " ")
    return words[:1].upper() + words[1:]


# One row per option name that has a meaning of its own, whatever type offers it.
_KNOWN = {
    option.value: option
    for option in (
        Option(value="approve", action=Action.CONTINUE, description="Continue the workflow"),
        Option(value="confirm", action=Action.CONTINUE, description="Proceed"),
        Option(value="continue", action=Action.CONTINUE, description="Continue without changes"),
        Option(
            value="request_changes",
            action=Action.REVISE,
            description="Provide feedback for revision",
            needs_words=True,
        ),
        Option(
            value="fix", action=Action.REVISE, description="Rerun the step with the suggested fixes"
        ),
        Option(value="retry", action=Action.RETRY, description="Rerun the step"),
        Option(value="skip", action=Action.SKIP, description="Skip this step and continue"),
        Option(value="reject", action=Action.ABORT, description="Cancel this workflow run"),
        Option(value="cancel", action=Action.ABORT, description="Cancel this workflow run"),
        Option(value="abort", action=Action.ABORT, description="Cancel this workflow run"),
        Option(value="stop", action=Action.ABORT, description="Cancel this workflow run"),
    )
}
KNOWN_OPTIONS = tuple(_KNOWN.values())

# What makes an answer a question, in whatever script; a Greek one looks like a semicolon.
QUESTION_MARKS = "?\uff1f\u2047\u2048\u2049\u061f\ufe56\ufe16\u055e\u1367\u037e"

_DEFAULTS: Mapping[FeedbackType, tuple[str, ...]] = {
    FeedbackType.APPROVAL: ("approve", "reject"),
    FeedbackType.CONFIRMATION: ("confirm", "cancel"),
    FeedbackType.SELECTION: (),
    FeedbackType.CLARIFICATION: (),
    FeedbackType.REVIEW: ("approve", "request_changes", "reject"),
    FeedbackType.ERROR_RESOLUTION: ("retry", "skip", "abort"),
}

_ALIASES: Mapping[str, frozenset[str]] = {
    option: frozenset(words.split())
    for option, words in {
        "approve": "approved yes y ok okay lgtm looks_good ship proceed accept accepted",
        "reject": "rejected no n deny denied decline declined",
        "request_changes": "changes change revise needs_changes request_change changes_requested",
        "confirm": "confirmed yes y ok proceed",
        "cancel": "cancelled canceled no n stop",
        "retry": "try_again again rerun",
        "skip": "skipped bypass",
        "abort": "aborted stop cancel quit",
        "continue": "ignore proceed yes y",
        "stop": "abort cancel no n",
    }.items()
}

SKIP_QUESTION = Option(value="skip", action=Action.ANSWER, description="Continue without an answer")


def options_of(feedback_type: FeedbackType) -> tuple[Option, ...]:
    return tuple(_KNOWN[name] for name in _DEFAULTS[feedback_type])


def known_action(name: str) -> Action | None:
    """The action an option's name carries by itself, if its name is one of ours."""
    known = _known(name)
    return known.action if known else None


def brings_fixes(name: str) -> bool:
    """Whether choosing it means: do what the step itself suggested."""
    return _known(name) is _KNOWN["fix"]


def refuses(name: str) -> bool:
    """Whether choosing it is a no, whatever the run does then."""
    return known_action(name) is Action.ABORT or _normalise(name) in _ALIASES["reject"]


def approves(name: str) -> bool:
    """Whether it is the option that takes what is shown as it is."""
    return _known(name) is _KNOWN["approve"]


def _known(name: str) -> Option | None:
    """The option of ours that people read in this name, however it is written."""
    return _KNOWN.get(_normalise(name))


def make_option(
    feedback_type: FeedbackType, name: str, *, action: Action | None = None, description: str = ""
) -> Option:
    """An option as an author names it; only a selection may leave an unknown name's action open."""
    if known := _known(name):
        if action not in (None, known.action):
            raise ValueError(f"{name!r} always means {known.action.value}. Choose another name")
        return replace(known, value=name, description=description or known.description)
    if action is None:
        if feedback_type is not FeedbackType.SELECTION:
            raise ValueError(f"the option {name!r} needs an action")
        action = Action.CONTINUE
    return Option(
        value=name,
        action=action,
        description=description,
        needs_words=action is Action.REVISE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked, as a value; put to people it becomes a request."""

    type: FeedbackType
    gate: Gate
    prompt: str
    title: str = ""  # where the question itself names what is asked; empty: the run's title
    is_template: bool = False  # the prompt has placeholders, which the run fills when it asks
    options: tuple[Option, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)
    reviewers: tuple[str, ...] = ()
    quorum: int = 1
    quorum_groups: Mapping[str, int] = field(default_factory=dict)  # so many of each
    max_rounds: int | None = None
    timing: Timing = WHENEVER


_LETS_GO_ON = (Action.CONTINUE, Action.RETRY, Action.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer understood: the response on record and what it makes the run do."""

    response: str
    action: Action
    needs_words: bool = False
    skipped: bool = False

    @property
    def takes_quorum(self) -> bool:
        """Whether as many must say so as must approve: whatever lets the run go on does."""
        return lets_go_on(self)


def lets_go_on(chosen: Option | Choice) -> bool:
    """Whether the run goes on without anybody's words."""
    # Words that send a step back decide alone; a fix that was only suggested has none.
    is_fix = chosen.action is Action.REVISE and not chosen.needs_words
    return chosen.action in _LETS_GO_ON or is_fix


def begins_a_round(chosen: Option | Choice) -> bool:
    """Whether it sends the step back with words, so that the same is asked once more."""
    return chosen.action is Action.REVISE and chosen.needs_words


def resolve(
    feedback_type: FeedbackType,
    options: Iterable[Option],
    answer: str | Mapping[str, object],
    form: Sequence[FormQuestion] = (),
) -> Choice:
    """Understand an answer by option, number, alias or unambiguous prefix; otherwise refuse.

    Where words are the answer they are held to the form, if its questions have types.
    """
    offered = tuple(options)
    if feedback_type.takes_text:
        return _free_text(offered, answer, form)
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    word = _normalise(text)
    exactly = [option for option in offered if option.value == text]
    ways = (_by_value, _by_number, _by_alias, _by_prefix)
    for found in (exactly, *(way(offered, word) for way in ways)):
        if len(found) == 1:
            option = found[0]
            return Choice(
                response=option.value, action=option.action, needs_words=option.needs_words
            )
        if found:
            break
    raise InvalidAnswer(
        f"{_quoted(text)} is not one of the options: {', '.join(o.value for o in offered)}.",
        options=[option.value for option in offered],
    )


def named(text: str, options: Iterable[Option]) -> list[Option]:
    """The options a text names by value, number or alias: in prose a prefix is just a word."""
    offered, word = tuple(options), _normalise(text)
    ways = (way(offered, word) for way in (_by_value, _by_number, _by_alias))
    return next((found for found in ways if found), [])


def _free_text(
    options: tuple[Option, ...], answer: str | Mapping[str, object], form: Sequence[FormQuestion]
) -> Choice:
    if not isinstance(answer, str):
        return Choice(response=_filled_in(form, fill(form, answer)), action=Action.ANSWER)
    if not answer.strip():
        raise InvalidAnswer("Answer at least one question.", options=[])
    # Only a whole answer can be an option here: words like "abort" are somebody's text.
    for option in options:
        if _normalise(answer) == _normalise(option.value):
            return Choice(response=option.value, action=option.action, skipped=True)
    if is_typed(form):
        answer = _filled_in(form, read_text(form, answer))
    return Choice(response=answer.strip(), action=Action.ANSWER)


def _filled_in(form: Sequence[FormQuestion], filled: Filled) -> str:
    """The values as they are put on record, or every problem with its place."""
    if filled.problems:
        raise InvalidAnswer(
            "\n".join(str(problem) for problem in filled.problems),
            problems=[{"place": each.place, "message": each.message} for each in filled.problems],
        )
    return as_text(form, filled.values)


def _by_value(options: tuple[Option, ...], word: str) -> list[Option]:
    return [option for option in options if _normalise(option.value) == word]


def _by_number(options: tuple[Option, ...], word: str) -> list[Option]:
    # isdecimal alone would let other scripts' digits through, and a long one cannot be read.
    is_number = len(word) <= 4 and word.isascii() and word.isdecimal()
    if is_number and 1 <= int(word) <= len(options):
        return [options[int(word) - 1]]
    return []


def _by_alias(options: tuple[Option, ...], word: str) -> list[Option]:
    return [option for option in options if word in _ALIASES.get(option.value, ())]


def _by_prefix(options: tuple[Option, ...], word: str) -> list[Option]:
    if len(word) < 3:
        return []
    begun = [option for option in options if _normalise(option.value).startswith(word)]
    # "reject" is no short form of "rejected" where that makes the run go on.
    return [option for option in begun if known_action(word) in (None, option.action)]


def _normalise(text: str) -> str:
    bare = visible(text).strip().casefold().strip("\"'`“”‘’.,;:!*_ \t")
    return re.sub(r"[\s_-]+", "_", bare)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"
