"""What people are shown of a call: never just the tool's name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from feedback.tool_calls import tool_input
from runs.domain.planning import titles
from runs.domain.values.forms.questions import read_form
from runs.domain.values.numbers import number_of
from runs.domain.values.questions import (
    Action,
    FeedbackType,
    Gate,
    Option,
    Question,
    options_of,
)
from runs.domain.values.standing.calls import PLAN, QUESTIONS, Subject, SubjectKind, subject_of
from runs.domain.values.text import one_line

Json = Mapping[str, object]

ALLOW, ALWAYS_ALLOW, DENY = "allow", "always_allow", "deny"
OTHER = "Other (write it in the comment)"
# The file that is shown has the whole input; the context goes wherever the request goes.
LONGEST_IN_CONTEXT = 4000

_ANSWERS = (
    Option(value=ALLOW, action=Action.CONTINUE, description="Allow exactly this, once"),
    Option(
        value=ALWAYS_ALLOW,
        action=Action.CONTINUE,
        description="Allow this, and every call the rule covers from now on",
    ),
    Option(value=DENY, action=Action.ABORT, description="Refuse; the agent gets your comment"),
)
_ABOUT_PLANS = {
    "approve": "Let the agent carry out this plan",
    "request_changes": "Send your comments to the agent, which revises the plan",
    "reject": "Refuse the plan; the agent stops",
}


_NAMES = {"claude": "Claude Code", "codex": "Codex"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool that an agent is about to use."""

    tool: str
    given: Json
    session: str
    event: str
    waiter: str  # the process that waits for the outcome
    agent: str = "claude"
    folder: str = ""
    project: str = ""

    @property
    def subject(self) -> Subject:
        return subject_of(self.tool, self.given)

    @property
    def kind(self) -> str:
        """The agent's kind; nothing of one that is not known."""
        return self.agent if self.agent in _NAMES else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    question: Question
    files: list[tuple[str, bytes]] = field(default_factory=list)


def worded(call: ToolUse) -> Worded:
    plan = call.given.get("plan")
    if call.tool == PLAN and isinstance(plan, str) and plan.strip():
        return _plan(call, plan)
    if call.tool == QUESTIONS and (form := _form(call.given)):
        return _questions(call, form)
    return _permission(call)


def _plan(call: ToolUse, plan: str) -> Worded:
    content = plan.encode(errors="replace")
    named = titles.heading_in([("plan.md", content)]) or plan.strip().splitlines()[0]
    options = options_of(FeedbackType.REVIEW)
    return Worded(
        question=Question(
            type=FeedbackType.REVIEW,
            gate=Gate.AFTER_STEP,
            prompt=f"{_name(call)} presents this plan and waits for your review.",
            title=named,
            options=tuple(replace(each, description=_ABOUT_PLANS[each.value]) for each in options),
            context=_context(call),
        ),
        files=[("plan.md", content)],
    )


def _questions(call: ToolUse, form: list[dict[str, object]]) -> Worded:
    asked = _listed(call.given["questions"])
    first = one_line(str(form[0]["question"]), titles.LONGEST)
    return Worded(
        question=Question(
            type=FeedbackType.CLARIFICATION,
            gate=Gate.AFTER_STEP,
            prompt=f"{_name(call)} asks {number_of(len(form), 'question')}.",
            title=first if len(form) == 1 else f"{first} (and {len(form) - 1} more)",
            context={**_context(call), **_explained(asked), "questions": form},
        )
    )


def _form(given: Json) -> list[dict[str, object]]:
    """The questions with their types; one that offers nothing takes any text."""
    form = []
    for number, each in enumerate(_listed(given.get("questions")), start=1):
        labels = _labels(each)
        kind = ("multi" if each.get("multiSelect") else "choice") if labels else "text"
        shape = {"id": f"q{number}", "question": str(each.get("question", ""))}
        offered = {"options": [*labels, OTHER]} if labels else {}
        form.append({**shape, **offered, "type": kind, "required": True})
    return form if len(read_form(form)) == len(form) else []


def _labels(question: Json) -> list[str]:
    labels = (each.get("label") for each in _listed(question.get("options")))
    return list(dict.fromkeys(str(label) for label in labels if label))


def _listed(value: object) -> list[Json]:
    """The objects of a list, as far as it is one."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _explained(questions: Sequence[Json]) -> dict[str, object]:
    """What is said about each option, for which no form has a place."""
    told = [
        f"{each.get('label')}: {each['description']}"
        for question in questions
        for each in _listed(question.get("options"))
        if each.get("description")
    ]
    return {"summary": "\n".join(told)} if told else {}


def _permission(call: ToolUse) -> Worded:
    shown = tool_input.without_secrets(dict(call.given))
    name = one_line(call.tool, 100) or "a tool without a name"
    return Worded(
        question=Question(
            type=FeedbackType.CONFIRMATION,
            gate=Gate.AFTER_STEP,
            prompt=f"{_name(call)} wants to use {name}{_where(call)}.",
            title=_title(name, call, shown),
            options=_ANSWERS,
            context={**_context(call), **_input(shown)},
        ),
        files=[(tool_input.file_name(name), tool_input.readable(shown).encode(errors="replace"))],
    )


def _title(name: str, call: ToolUse, shown: object) -> str:
    subject = subject_of(call.tool, shown if isinstance(shown, Mapping) else {})
    text = one_line(subject.text, titles.LONGEST)
    return text if subject.kind is SubjectKind.COMMAND and text else f"{name} {text}".strip()


def _input(shown: object) -> dict[str, object]:
    fits = len(json.dumps(shown, ensure_ascii=False)) <= LONGEST_IN_CONTEXT
    return {"input": shown} if fits else {}


def _context(call: ToolUse) -> dict[str, object]:
    context = {"tool": one_line(call.tool, 100), "agent": call.agent, "folder": call.folder}
    described = call.given.get("description")
    if isinstance(described, str):
        context["summary"] = str(tool_input.without_secrets(one_line(described, 500)))
    return {key: value for key, value in context.items() if value}


def _where(call: ToolUse) -> str:
    return f" in {PurePath(call.folder).name}" if PurePath(call.folder).name else ""


def _name(call: ToolUse) -> str:
    return _NAMES.get(call.agent, "An agent")
