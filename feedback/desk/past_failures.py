"""How the same failure was dealt with before, and whether that helped."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.responses.results import ResultStatus
from runs.domain.values.questions import Action
from runs.domain.values.status import RequestStatus, RunStatus
from runs.models import StepAttempt

LOOKED_AT = 50
SHOWN = 5

WORKED, FAILED_AGAIN, OPEN, ENDED = "worked", "failed again", "outcome unknown", "ended the run"
_WORKED = (ResultStatus.SUCCESS.value, ResultStatus.WARNING.value)
# The step is not executed again, so the run tells whether it did without.
_WITHOUT_IT = (Action.SKIP, Action.CONTINUE)
_OF_RUNS = {RunStatus.COMPLETED: WORKED, RunStatus.FAILED: FAILED_AGAIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFailure:
    asked: FeedbackRequest
    answer: FeedbackResponse
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One way of dealing with it: how often it was chosen, and of what is known worked."""

    response: str
    times: int
    known: int
    worked: int

    @property
    def told(self) -> str:
        if not self.known:
            return f"was chosen {self.times} time{'s' * (self.times != 1)}"
        return f"worked {self.worked} of {self.known} time{'s' * (self.known != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMemory:
    newest: Sequence[PastFailure] = ()
    tallies: Sequence[Tally] = ()


def memory_of(asked: FeedbackRequest) -> FailureMemory:
    """What is known about the failure's fingerprint from other requests, newest first."""
    if not asked.fingerprint:
        return FailureMemory()
    same = FeedbackRequest.objects.filter(
        fingerprint=asked.fingerprint, status=RequestStatus.ANSWERED
    ).exclude(pk=asked.pk)
    newest = same.select_related("run__project").defer("run__plan", "context")
    requests = list(newest.prefetch_related("responses").order_by("-requested_at")[:LOOKED_AT])
    following = _following(requests)
    past = [
        PastFailure(
            asked=request, answer=answer, ended=_ended(request, answer, following[request.pk])
        )
        for request in requests
        if (answer := request.decision)
    ]
    return FailureMemory(newest=past[:SHOWN], tallies=_tallies(past))


def _following(requests: Sequence[FeedbackRequest]) -> dict[int, str]:
    """The result of the attempt that came after each request, by request."""
    runs = {request.run_id for request in requests}
    attempts = StepAttempt.objects.filter(run_id__in=runs, is_hook=False).order_by("id")
    rows = list(attempts.values_list("id", "run_id", "phase", "step", "result"))
    found: dict[int, str] = {}
    for request in requests:
        place = (request.run_id, request.phase, request.step)
        later = (
            result
            for pk, *at, result in rows
            if tuple(at) == place and pk > (request.attempt_id or 0)
        )
        found[request.pk] = next(later, "")
    return found


def _ended(request: FeedbackRequest, answer: FeedbackResponse, result: str) -> str:
    if answer.action == Action.ABORT:
        return ENDED
    if answer.action in _WITHOUT_IT:
        return _OF_RUNS.get(request.run.state, OPEN)
    if not result:
        return OPEN
    return WORKED if result in _WORKED else FAILED_AGAIN


def _tallies(past: Sequence[PastFailure]) -> list[Tally]:
    times = Counter(each.answer.response for each in past)
    ended = Counter((each.answer.response, each.ended) for each in past)
    return [
        Tally(
            response=response,
            times=count,
            known=ended[response, WORKED] + ended[response, FAILED_AGAIN],
            worked=ended[response, WORKED],
        )
        for response, count in times.most_common()
    ]
