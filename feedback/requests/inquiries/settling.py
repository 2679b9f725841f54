"""Ends a question: what was said, or why nothing was, and what that cost."""

from collections.abc import Mapping

from django.db import transaction

from feedback.models import Inquiry
from feedback.requests import announce
from feedback.requests.inquiries import on_record
from runs.engine.change import locked
from runs.engine.concealing import concealed
from runs.models import clock
from runs.spending import counting

LONGEST = 50_000
_CUT = "\n\n[The rest of the answer was omitted.]"


def settle(
    inquiry: Inquiry,
    *,
    answer: str = "",
    problem: str = "",
    usage: Mapping[str, object] | None = None,
    session: str = "",
) -> bool:
    """Put a reply on record, unless the question is somebody else's by now or has one."""
    state = Inquiry.Stage.ANSWERED if answer else Inquiry.Stage.FAILED
    mine = Inquiry.objects.filter(pk=inquiry.pk, state__in=Inquiry.OPEN, worker=inquiry.worker)
    with transaction.atomic():
        run = locked(inquiry.request.run_id)
        settled = {
            "state": state,
            "answer": _kept(answer),
            "problem": concealed(problem)[:2000],
            "answered_at": clock.now(),
            "agent": str((usage or {}).get("agent") or inquiry.agent)[:100],
            "session": session[:200],
            "usage": dict(usage) if usage else None,
            "lease_until": None,
            **counting.columns(usage),
        }
        if not mine.update(**settled):
            return False
        counting.add(run, usage)
        run.save(update_fields=list(counting.COLUMNS))
        inquiry.refresh_from_db()
        inquiry.request.run = run
        on_record.reply(inquiry)
        announce.replied(inquiry)
    return True


def drop(inquiry: Inquiry) -> None:
    """The request was closed first: nobody needs an answer any more."""
    still_open = Inquiry.objects.filter(pk=inquiry.pk, state__in=Inquiry.OPEN)
    still_open.update(state=Inquiry.Stage.DROPPED, lease_until=None)


def _kept(answer: str) -> str:
    text = concealed(answer.replace("\0", ""))
    return text if len(text) <= LONGEST else text[:LONGEST] + _CUT
