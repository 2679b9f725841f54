"""The questions on a request and what the agent said, as programs read them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from feedback.models import FeedbackRequest, Inquiry
from runs.domain.values.events import timestamp
from runs.domain.values.status import RequestStatus
from runs.models import Run

Json = dict[str, object]


def threads_of(requests: Sequence[FeedbackRequest]) -> Mapping[int, list[Json]]:
    """The thread of each request, by its key; read in one query."""
    by_pk = {request.pk: request for request in requests}
    threads: dict[int, list[Json]] = defaultdict(list)
    for inquiry in Inquiry.objects.filter(request__in=by_pk).order_by("number"):
        inquiry.request = by_pk[inquiry.request_id]
        threads[inquiry.request_id].append(shape(inquiry))
    return threads


def shape(inquiry: Inquiry) -> Json:
    answered_at = inquiry.answered_at
    return {
        "number": inquiry.number,
        "question": inquiry.question,
        "asked_by": inquiry.asked_by,
        "asked_at": timestamp(inquiry.asked_at),
        "status": inquiry.status,
        "agent": inquiry.agent or None,
        "answer": inquiry.answer or None,
        "problem": inquiry.problem or None,
        "answered_at": timestamp(answered_at) if answered_at else None,
        "cost_usd": inquiry.cost_usd,
    }


def open_for(run: Run) -> list[Inquiry]:
    """What the program behind a run is asked and has not replied to."""
    asked = Inquiry.objects.filter(
        request__run=run,
        request__status=RequestStatus.PENDING,
        state=Inquiry.Stage.WAITING,
    )
    return list(asked.exclude(token="").select_related("request").order_by("number"))
