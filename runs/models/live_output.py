"""The last lines of a step that runs: added in parts, so that nothing is written twice."""

import zlib
from collections import deque
from collections.abc import Sequence

from django.db.models import QuerySet

from runs.models.steps import OutputPart, StepAttempt

SHOWN_LINES = 200


class LiveOutput:
    """What one worker adds for one attempt; old parts go when newer ones fill the page."""

    def __init__(self, attempt_pk: int) -> None:
        self._attempt_pk = attempt_pk
        self._parts: deque[tuple[int, int]] = deque()  # the key of each, and how many lines it has

    def add(self, lines: Sequence[str]) -> None:
        packed = zlib.compress("\n".join(lines).encode(), level=1)
        part = OutputPart.objects.create(attempt_id=self._attempt_pk, lines=packed)
        self._parts.append((part.pk, len(lines)))
        gone = 0
        while sum(count for _, count in self._parts) - self._parts[0][1] >= SHOWN_LINES:
            gone, _ = self._parts.popleft()
        if gone:
            _parts_of(self._attempt_pk).filter(pk__lte=gone).delete()


def tail(attempt: StepAttempt) -> str:
    """The last lines so far."""
    parts = _parts_of(attempt.pk).order_by("pk").values_list("lines", flat=True)
    lines = "\n".join(zlib.decompress(part).decode() for part in parts).split("\n")
    return "\n".join(lines[-SHOWN_LINES:])


def version(attempt: StepAttempt) -> int:
    """Another number with every part."""
    return _parts_of(attempt.pk).order_by("-pk").values_list("pk", flat=True).first() or 0


def clear(attempt: StepAttempt) -> None:
    _parts_of(attempt.pk).delete()


def _parts_of(attempt_pk: int) -> QuerySet[OutputPart]:
    return OutputPart.objects.filter(attempt_id=attempt_pk)
