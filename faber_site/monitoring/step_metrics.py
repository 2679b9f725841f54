"""How steps ended and how long they took; each is read about once."""

from collections.abc import Iterable

from django.db.models import Case, CharField, F, Q, When
from prometheus_client.metrics_core import Metric

from faber_site.monitoring.families import Durations, Seconds
from faber_site.monitoring.tallies import Counted
from runs.domain.responses.results import ResultStatus
from runs.models import StepAttempt

_ENDED = StepAttempt.Status
# A step without a result of its own ended in one of these ways.
_OUTCOMES = (*(str(result) for result in ResultStatus), "lost", "cancelled")
# Commands take seconds, agents minutes, and some an hour.
_DURATIONS = Durations(
    bounds=(1, 5, 15, 60, 300, 900, 1800, 3600, 7200),
    took=Seconds(F("started_at"), F("finished_at")),
    label="outcome",
)


def collect() -> Iterable[Metric]:
    outcome = Case(
        When(status=_ENDED.FINISHED, then=F("result")),
        default=F("status"),
        output_field=CharField(),
    )
    steps = Counted(
        name="steps",
        rows=StepAttempt.objects.annotate(outcome=outcome),
        is_open=Q(finished_at=None),
        is_summed=Q(finished_at__isnull=False, started_at__isnull=False),
        durations=_DURATIONS,
    )
    told = "How long steps took, by outcome."
    yield _DURATIONS.histogram("faber_step_seconds", told, steps.sums(), _OUTCOMES)
