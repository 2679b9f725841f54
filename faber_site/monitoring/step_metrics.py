"""How steps ended and how long they took, read from an index that holds nothing else."""

from collections.abc import Iterable

from django.db.models import Case, CharField, F, When
from prometheus_client.metrics_core import Metric

from faber_site.monitoring.families import Seconds, histogram
from runs.domain.responses.results import ResultStatus
from runs.models import StepAttempt

_ENDED = StepAttempt.Status
# A step without a result of its own ended in one of these ways.
_OUTCOMES = (*(str(result) for result in ResultStatus), "lost", "cancelled")
# Commands take seconds, agents minutes, and some an hour.
_DURATIONS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200)


def collect() -> Iterable[Metric]:
    outcome = Case(
        When(status=_ENDED.FINISHED, then=F("result")),
        default=F("status"),
        output_field=CharField(),
    )
    ended = StepAttempt.objects.filter(finished_at__isnull=False, started_at__isnull=False)
    yield histogram(
        *("faber_step_seconds", "How long steps took, by outcome.", _DURATIONS),
        ended.annotate(outcome=outcome),
        took=Seconds(F("started_at"), F("finished_at")),
        label="outcome",
        values=_OUTCOMES,
    )
