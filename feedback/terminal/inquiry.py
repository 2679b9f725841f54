"""Asks the agent from a terminal, and waits there for what it says."""

import time
from collections.abc import Callable

from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.inquiries import answering, asking
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.terminal.layout import clean

MARK = "?"  # before a question at the prompt
HOW = f"Type {MARK} and a question to ask the agent first.\n"
WAITING = "Waiting for the agent. Ctrl-C stops waiting; the question stays."

_LOOK_SECONDS = 0.5


def question_in(request: FeedbackRequest, typed: object) -> str:
    """What is asked at a prompt; nothing where the words may be the answer."""
    if request.feedback_type.takes_text or not isinstance(typed, str):
        return ""
    return typed.removeprefix(MARK).strip() if typed.startswith(MARK) else ""


def ask(request_id: str, question: str, *, actor: Actor, say: Callable[[str], None]) -> Inquiry:
    """The question with its answer; Refused where there is none to be had."""
    inquiry = asking.ask(request_id, question, actor=actor)
    say(WAITING)
    if not inquiry.token:
        answering.answer(inquiry.pk)  # here, unless a worker is quicker
    while (current := _current(inquiry)).is_pending:
        time.sleep(_LOOK_SECONDS)
    if not current.answer:
        why = current.problem or "The request was closed before the agent could answer."
        raise Refused(clean(why))
    return current


def _current(inquiry: Inquiry) -> Inquiry:
    return Inquiry.objects.select_related("request__run__project").get(pk=inquiry.pk)
