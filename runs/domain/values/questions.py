"""What can be asked, which answers count, and what each makes the run do."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from runs.domain.values.errors import InvalidAnswer


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


class ItemKind(StrEnum):
    """How much a reviewer means a line comment."""

    MUST = "must"
    SHOULD = "should"
    QUESTION = "question"

    @property
    def label(self) -> str:
        return "Question" if self is ItemKind.QUESTION else f"{self.value.capitalize()} change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    action: Action
    description: str = ""
    needs_words: bool = False

    @property
    def label(self) -> str:
        words = self.value.replace("_", " ")
        return words[:1].upper() + words[1:]

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


# One row per option name that has a meaning of its own, whatever type offers it.
_KNOWN = {
    option.value: option
    for option in (
        Option(value="approve", action=Action.CONTINUE, description="Continue the workflow"),
        Option(value="confirm", action=Action.CONTINUE, description="Do it"),
        Option(value="continue", action=Action.CONTINUE, description="Go on as it is"),
        Option(
            value="request_changes",
            action=Action.REVISE,
            description="Provide feedback for revision",
            needs_words=True,
        ),
        Option(value="fix", action=Action.REVISE, description="Do the step again with the fixes"),
        Option(value="retry", action=Action.RETRY, description="Attempt the step again"),
        Option(value="skip", action=Action.SKIP, description="Skip this step and continue"),
        Option(value="reject", action=Action.ABORT, description="Cancel this workflow run"),
        Option(value="cancel", action=Action.ABORT, description="Do not do it; cancel the run"),
        Option(value="abort", action=Action.ABORT, description="Cancel this workflow run"),
        Option(value="stop", action=Action.ABORT, description="Cancel this workflow run"),
    )
}
KNOWN_OPTIONS = tuple(_KNOWN.values())

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

SKIP_QUESTION = Option(
    value="skip", action=Action.ANSWER, description="Let the step go on without an answer"
)


def options_of(feedback_type: FeedbackType) -> tuple[Option, ...]:
    return tuple(_KNOWN[name] for name in _DEFAULTS[feedback_type])


def known_action(name: str) -> Action | None:
    """The action an option's name carries by itself, if its name is one of ours."""
    known = _KNOWN.get(name)
    return known.action if known else None


def make_option(
    feedback_type: FeedbackType, name: str, *, action: Action | None = None, description: str = ""
) -> Option:
    """An option as an author names it; only a selection may leave an unknown name's action open."""
    known = _KNOWN.get(name)
    if known and action in (None, known.action):
        return replace(known, description=description or known.description)
    if action is None:
        if feedback_type is not FeedbackType.SELECTION:
            raise ValueError(f"say which action the option {name!r} takes")
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
    options: tuple[Option, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)
    reviewers: tuple[str, ...] = ()
    quorum: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer understood: the response on record and what it makes the run do."""

    response: str
    action: Action
    needs_words: bool = False
    skipped: bool = False


def resolve(feedback_type: FeedbackType, options: Iterable[Option], text: str) -> Choice:
    """Understand an answer by option, number, alias or unambiguous prefix; otherwise refuse."""
    offered = tuple(options)
    if feedback_type.takes_text:
        return _free_text(offered, text)
    word = _normalise(text)
    for way in (_by_value, _by_number, _by_alias, _by_prefix):
        found = way(offered, word)
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


def _free_text(options: tuple[Option, ...], text: str) -> Choice:
    if not text.strip():
        raise InvalidAnswer("Write an answer; an empty one says nothing.", options=[])
    # Only a whole answer can be an option here: words like "abort" are somebody's text.
    for option in options:
        if _normalise(text) == _normalise(option.value):
            return Choice(response=option.value, action=option.action, skipped=True)
    return Choice(response=text.strip(), action=Action.ANSWER)


def _by_value(options: tuple[Option, ...], word: str) -> list[Option]:
    return [option for option in options if _normalise(option.value) == word]


def _by_number(options: tuple[Option, ...], word: str) -> list[Option]:
    # isdecimal alone would let other scripts' digits through.
    if word.isascii() and word.isdecimal() and 1 <= int(word) <= len(options):
        return [options[int(word) - 1]]
    return []


def _by_alias(options: tuple[Option, ...], word: str) -> list[Option]:
    return [option for option in options if word in _ALIASES.get(option.value, ())]


def _by_prefix(options: tuple[Option, ...], word: str) -> list[Option]:
    if len(word) < 3:
        return []
    return [option for option in options if _normalise(option.value).startswith(word)]


def _normalise(text: str) -> str:
    bare = text.strip().casefold().strip("\"'`“”‘’.,;:!*_ \t")
    return re.sub(r"[\s_-]+", "_", bare)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"
