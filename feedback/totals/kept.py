"""What is kept: how many rows some tables have; by day, what agents cost and people answered."""

import logging

from django.db.models import Count, Exists, OuterRef, Q, Sum

from feedback.models import Delivery, FeedbackResponse, Inquiry, Notice
from feedback.totals.daily import Daily
from feedback.totals.growing import Growing
from feedback.totals.whole import Whole
from runs.domain.values.actors import POLICY, TIMEOUT
from runs.models import Run, StepAttempt

logger = logging.getLogger(__name__)

_TOLD = Q(cost_usd__isnull=False) | Q(output_tokens__isnull=False)
_COSTS = {
    "usd": Sum("cost_usd"),
    "tokens_in": Sum("input_tokens"),
    "tokens_out": Sum("output_tokens"),
}
_EARLIER = StepAttempt.objects.filter(_TOLD, run=OuterRef("run"), pk__lt=OuterRef("pk"))

# With the runs that began to cost.
STEPS = Daily(
    growing=Growing(
        name="cost of steps",
        rows=StepAttempt.objects.annotate(is_first=~Exists(_EARLIER)),
        is_open=Q(finished_at=None),
    ),
    is_summed=_TOLD & Q(finished_at__isnull=False),
    project="run__project",
    at="finished_at",
    sums={"counted": Count("pk", filter=Q(is_first=True)), **_COSTS},
)
INQUIRIES = Daily(
    growing=Growing(
        name="cost of inquiries", rows=Inquiry.objects.all(), is_open=Q(state__in=Inquiry.OPEN)
    ),
    is_summed=_TOLD & Q(answered_at__isnull=False),
    project="request__run__project",
    at="answered_at",
    sums=_COSTS,
)


def _given(name: str, which: Q) -> Daily:
    """Of every answer, also those that were taken back: few, and at any time."""
    rows = FeedbackResponse.objects.all()
    return Daily(
        growing=Growing(name=name, rows=rows, is_open=Q(pk__in=())),
        is_summed=which,
        project="request__run__project",
        at="received_at",
        sums={"counted": Count("pk")},
    )


BY_PEOPLE = ~Q(identity=POLICY.identity)
ANSWERS = _given("answers", BY_PEOPLE)
OVERRIDES = _given("overrides", BY_PEOPLE & ~Q(override={}))
TIMEOUTS = _given(
    "timeouts",
    Q(decides=True, identity=TIMEOUT.identity, provided_by__method=TIMEOUT.method),
)
RUNS, DELIVERIES, NOTICES = Whole(Run), Whole(Delivery), Whole(Notice)
EVERY = (STEPS, INQUIRIES, ANSWERS, OVERRIDES, TIMEOUTS, RUNS, DELIVERIES, NOTICES)


def look_over() -> None:
    """Count on, and hold what is kept to the rows it was counted from."""
    for each in EVERY:
        each.count_on()
        if not each.recount():
            logger.warning("what was kept of %s was not what its rows say: corrected", each.name)
