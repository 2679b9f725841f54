"""What an agent is told of a decision, in sentences that it acts on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.tool_calls.wording import OTHER
from runs.domain.values.questions import Action, FeedbackType, ItemKind
from runs.domain.values.text import visible

REFUSED = (
    "A person refused this{words} The refusal is final: do not try it again and do not look for "
    "a way around it. Continue without it, or stop and say so."
)
REJECTED = (
    "A person rejected the plan{words} Do not carry it out and do not present it again. Stop and "
    "ask what to do instead."
)
REVISE = (
    "A person reviewed the plan and requests changes before you may begin. Revise the plan so "
    "that every comment is dealt with, then present the whole revised plan with ExitPlanMode."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVerdict:
    """`none`: nothing was decided, and the agent's own prompt stands."""

    behavior: Literal["allow", "deny", "none"]
    message: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)  # by the text of their questions
    rule: str = ""


def verdict_on(request: FeedbackRequest) -> ToolVerdict:
    """Of a request whose outcome stands."""
    decision = request.decision
    if decision is None:
        return ToolVerdict(behavior="none", message="The request was withdrawn.")
    words = decision.comment.strip()
    match Action(decision.action):
        case Action.CONTINUE:
            return ToolVerdict(behavior="allow", message=words, rule=_rule(decision))
        case Action.ANSWER:
            return ToolVerdict(behavior="allow", message=words, answers=_answers(request, decision))
        case Action.REVISE:
            return ToolVerdict(behavior="deny", message="\n\n".join(_review(decision)))
    told = REJECTED if request.feedback_type is FeedbackType.REVIEW else REFUSED
    return ToolVerdict(behavior="deny", message=told.format(words=_quoted(words)))


def _rule(decision: FeedbackResponse) -> str:
    rule = decision.provided_by.get("rule")
    return f"{rule['name']}@{rule['version']}" if isinstance(rule, Mapping) else ""


def _quoted(words: str) -> str:
    return f", saying: “{visible(words)}”." if words else "."


def _answers(request: FeedbackRequest, decision: FeedbackResponse) -> dict[str, str]:
    given = decision.values
    return {
        question.text: _answer(given[question.id], decision.comment.strip())
        for question in request.form
        if question.id in given
    }


def _answer(value: object, comment: str) -> str:
    chosen = [str(each) for each in value] if isinstance(value, list) else [str(value)]
    return ", ".join(comment if each == OTHER and comment else each for each in chosen)


def _review(decision: FeedbackResponse) -> Iterator[str]:
    """The comment, then each line comment with its place and what stands there."""
    yield REVISE
    if words := visible(decision.comment.strip()):
        yield f"Comment from {decision.who}:\n{words}"
    for item in decision.items:
        yield _line_comment(item)


def _line_comment(item: Mapping[str, object]) -> str:
    first, last = item.get("line"), item.get("end_line")
    lines = f"line {first}" if last in (None, first) else f"lines {first} to {last}"
    kind = ItemKind(str(item["kind"])).label if item.get("kind") else "Comment"
    quote = "".join(f"> {line}\n" for line in visible(str(item.get("quote") or "")).splitlines())
    told = f"{kind}, {lines}:\n{quote}{visible(str(item.get('body') or ''))}".rstrip()
    if "replacement" not in item:
        return told
    return f"{told}\nReplace with:\n{visible(str(item['replacement']))}".rstrip()
