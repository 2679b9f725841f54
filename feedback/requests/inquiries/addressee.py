"""Who can answer a question about a request: the agent of a step, or the program that asked."""

from collections.abc import Iterator
from dataclasses import dataclass

from feedback.models import FeedbackRequest, ToolCall
from runs.accounts import permissions
from runs.domain.values.errors import Refused
from runs.models import StepAttempt
from runs.worker.remote import RemoteLease
from runs.workflow_files import ask_only


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressee:
    agent: str  # for people
    attempt: StepAttempt | None = None  # of an agent that a worker can start
    token: str = ""  # of a program, which gets the question as a message

    @property
    def name(self) -> str:
        return self.agent or self.token or "the agent"


def addressee_of(request: FeedbackRequest) -> Addressee:
    """Refuses with a sentence where there is nobody to ask."""
    if request.run.on_hold:
        raise permissions.on_hold(request.run)
    if request.run.is_foreign:
        raise Refused("Another FABER site executes this run, so its agent can't be asked here.")
    if _is_permission(request):
        raise Refused("The agent is waiting for this permission and can't answer questions.")
    if request.asked_by:
        return Addressee(agent="", token=request.asked_by)
    units = request.run.frozen_plan.units
    may_be_one = any(unit.step.remote or unit.step.is_for_agent for unit in units)
    found = filter(None, map(_worked_on, _attempts(request))) if may_be_one else ()
    if (one := next(iter(found), None)) is None:
        raise Refused("No agent has worked on this run, so nobody can be asked.")
    return one


def has_addressee(request: FeedbackRequest) -> bool:
    try:
        addressee_of(request)
    except Refused:
        return False
    return True


def _is_permission(request: FeedbackRequest) -> bool:
    """Whether the agent stands still until it is answered: nothing else reaches it meanwhile."""
    if request.run.plan_hash != ask_only.plan().digest:
        return False
    by_tool = bool(request.asked_by and request.context.get("tool"))
    return by_tool or ToolCall.objects.filter(request=request).exists()


def _attempts(request: FeedbackRequest) -> Iterator[StepAttempt]:
    """The one that is asked about, then those of other steps, the newest first."""
    if request.attempt is not None:
        yield request.attempt
    finished = request.run.attempts.filter(status=StepAttempt.Status.FINISHED)
    others = (attempt for attempt in finished.order_by("-pk") if attempt != request.attempt)
    yield from others


def _worked_on(attempt: StepAttempt) -> Addressee | None:
    step = attempt.run.frozen_plan.units[attempt.position].step
    if step.remote:
        executor = RemoteLease.executor_of(attempt.worker)
        return Addressee(agent="", token=executor) if executor else None
    if not step.is_for_agent:
        return None
    return Addressee(agent=str((attempt.usage or {}).get("agent") or ""), attempt=attempt)
