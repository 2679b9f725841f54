"""The questions to the agent as the page of a request shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.inquiries.addressee import has_addressee
from runs.accounts import permissions
from runs.domain.responses import usage
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.status import RequestStatus
from runs.rendering import render

FIELD = "text"  # the question being typed, as a draft has it too


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEntry:
    inquiry: Inquiry

    @property
    def answer(self) -> SafeString:
        """The agent's Markdown, made safe."""
        return render(self.inquiry.answer).html

    @property
    def agent(self) -> str:
        return self.inquiry.agent or self.inquiry.token or "The agent"

    @property
    def cost(self) -> str:
        return usage.spoken({usage.COST: self.inquiry.cost_usd})


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    entries: Sequence[ThreadEntry]
    can_ask: bool  # whoever looks, now
    typed: str = ""

    @property
    def newest(self) -> ThreadEntry | None:
        return self.entries[-1] if self.entries else None


def thread_of(asked: FeedbackRequest, actor: Actor, typed: str = "") -> Thread:
    entries = [ThreadEntry(inquiry=inquiry) for inquiry in asked.inquiries.all()]
    return Thread(entries=entries, can_ask=_can_ask(asked, actor), typed=typed)


def version_of(asked: FeedbackRequest) -> str:
    """Another for each question and each reply; nothing without."""
    inquiries = asked.inquiries.all()
    settled = sum(inquiry.is_settled for inquiry in inquiries)
    return f"-q{len(inquiries)}.{settled}" if inquiries else ""


def _can_ask(asked: FeedbackRequest, actor: Actor) -> bool:
    if asked.status != RequestStatus.PENDING:
        return False
    try:
        permissions.check_may_comment(actor, asked.run)
    except Refused:
        return False
    return has_addressee(asked)
