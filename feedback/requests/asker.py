"""What the engine asks people through: opens requests when a run stops, withdraws them at its end.

`runs.ports.Asker` says what each function owes its caller.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import FilteredRelation, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from feedback.models import FeedbackRequest, FeedbackResponse, Inquiry
from feedback.requests import announce, answers, recorded
from feedback.requests.deadlines import policy
from feedback.requests.fingerprint import fingerprint
from feedback.requests.handover import assigning
from feedback.requests.inquiries import thread
from feedback.requests.request_json import DECISION_FIELDS, decision_shape, option_shape
from feedback.requests.seal import seal_of
from runs.domain.planning import titles
from runs.domain.responses import usage
from runs.domain.values.actors import POLICY
from runs.domain.values.background import Background
from runs.domain.values.ids import make_request_id
from runs.domain.values.questions import Action, FeedbackType, Gate, Question, refuses
from runs.domain.values.status import RequestStatus
from runs.domain.values.text import one_line
from runs.domain.workflow.plan import Unit
from runs.models import Artifact, Run, StepAttempt
from runs.models.statements import Prepared, insert
from runs.ports import Asking, CodeShown, PendingRequest

# Each step that waits behind a request counts like this much more waiting.
WEIGHT_OF_A_STEP = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ReadyRequest:
    """A request with what it shows, not written yet."""

    request: FeedbackRequest
    shown: Sequence[Artifact]

    @property
    def request_id(self) -> str:
        return self.request.request_id

    def open(self) -> None:
        request = self.request
        if request.snapshot:
            insert(request.snapshot)
            request.snapshot_id = request.snapshot.pk
        insert(request)
        if self.shown:
            request.artifacts.set(self.shown)
        recorded.question(request, self.shown)
        announce.opened(request)


def prepared(run: Run, unit: Unit, question: Question, asking: Asking) -> ReadyRequest:
    now = asking.now
    made = _made_by(run, asking.after)
    reviewers = list(question.reviewers) or run.project.reviewers
    dealt_to = assigning.next_of(run, reviewers)
    asked = _ASKED.rows(run.pk)
    behind = sum(1 for later in run.frozen_plan.units[run.position :] if not later.is_hook)
    request = FeedbackRequest(
        request_id=_unused_id(now),
        run=run,
        project_id=run.project_id,
        type=question.type.value,
        gate=question.gate.value,
        gate_key=asking.gate_key,
        attempt=asking.after,
        snapshot=asking.snapshot,
        prompt=question.prompt,
        own_title=one_line(question.title, titles.LONGEST),
        round=round_of(run, unit.phase.value, unit.step.id, question.gate.value) if asked else 1,
        max_rounds=question.max_rounds,
        agent=made.agent,
        cost_usd=made.cost_usd,
        options=[option_shape(option) for option in question.options],
        context=dict(question.context),
        phase=unit.phase.value,
        step=unit.step.id,
        step_index=unit.index,
        reviewers=reviewers,
        assignee=dealt_to,
        dealt_to=dealt_to,
        repeats=_refused_before(run, question) if asked else "",
        quorum=question.quorum,
        quorum_groups=dict(question.quorum_groups),
        steps_behind=behind,
        fingerprint=_fingerprint(run, unit, question),
        requested_at=now,
        ranked_at=now - behind * WEIGHT_OF_A_STEP,
        **policy.columns(question, run.project, now),
    )
    request.seal = seal_of(request, asking.shown, run.plan_hash)
    return ReadyRequest(request, asking.shown)


_ASKED = Prepared(
    lambda run: FeedbackRequest.objects.filter(run=run).order_by().values_list("pk")[:1], -1
)

_ANSWERED = Prepared(
    lambda run, phase, step, gate: FeedbackRequest.objects.filter(
        run_id=run, phase=phase, step=step, gate=gate, status=RequestStatus.ANSWERED
    ).values_list("pk"),
    *(-1, "a phase", "a step", "a gate"),
)


def round_of(run: Run, phase: str, step: str, gate: str) -> int:
    """How often the same was asked, this time included.

    What is asked again because a file had changed is the same round still.
    """
    return len(_ANSWERED.rows(run.pk, phase, step, gate)) + 1


_USED = Prepared(
    lambda run, phase, step, number: (
        StepAttempt.objects.filter(run_id=run, phase=phase, step=step, number__lte=number)
        .order_by("number")
        .values_list("usage")
    ),
    *(-1, "a phase", "a step", 2),
)


def _refused_before(run: Run, question: Question) -> str:
    """The request in which a person said no to the very same; else nothing."""
    same = FeedbackResponse.objects.filter(
        request__run=run,
        request__type=question.type.value,
        request__prompt=question.prompt,
        decides=True,
        state=FeedbackResponse.State.TAKEN,
    ).exclude(provided_by__source=POLICY.source.value)
    said = same.order_by("-pk").values_list("response", "request__request_id")
    return next((request_id for answer, request_id in said if refuses(answer)), "")


class _MadeBy(NamedTuple):
    agent: str = ""
    cost_usd: float | None = None


def _made_by(run: Run, attempt: StepAttempt | None) -> _MadeBy:
    """Which agent last worked on a step, and what all its attempts cost together."""
    if attempt is None:
        return _MadeBy()
    first = [(attempt.usage,)]  # of a first attempt there is nothing to look for
    is_first = attempt.number == 1
    rows = first if is_first else _USED.rows(run.pk, attempt.phase, attempt.step, attempt.number)
    told = [used for (used,) in rows if used]
    names = [str(used["agent"]) for used in told if used.get("agent")]
    return _MadeBy(names[-1][:100] if names else "", usage.total(told).get(usage.COST))


_OF_THAT_NAME = Prepared(
    lambda name: FeedbackRequest.objects.filter(request_id=name).values_list("pk"), "a name"
)


def _unused_id(now: datetime) -> str:
    """Six digits name sixteen million; a busy day draws one of them twice."""
    drawn = make_request_id(now, os.urandom(3))
    while _OF_THAT_NAME.rows(drawn):
        drawn = make_request_id(now, os.urandom(3))
    return drawn


def _fingerprint(run: Run, unit: Unit, question: Question) -> str:
    """By what a failure is recognised; nothing for other questions."""
    if question.type is not FeedbackType.ERROR_RESOLUTION:
        return ""
    errors = Background.read(question.context).errors
    return fingerprint(run.workflow_id, unit.key, errors or [question.prompt])


def approve_by_policy(request_id: str) -> None:
    """The workflow allows this gate to be approved without a person; that is on record too."""
    request = FeedbackRequest.objects.get(request_id=request_id)
    answers.respond(request_id, request.choices[0].value, actor=POLICY)


def ask_again(run: Run) -> None:
    for request in run.requests.filter(status=RequestStatus.PENDING):
        announce.opened(request)


def withdraw(run: Run, reason: str) -> None:
    held = FeedbackResponse.objects.filter(request__run=run, state=FeedbackResponse.State.HELD)
    for response in held.select_related("request"):
        response.request.run = run
        recorded.retraction(response, reason=reason)
    undecided = Q(status=RequestStatus.PENDING) | Q(pk__in=held.values("request"))
    requests = list(FeedbackRequest.objects.filter(undecided, run=run).select_related("callback"))
    held.update(state=FeedbackResponse.State.RETRACTED)
    for request in requests:
        request.status, request.closed_at = RequestStatus.CANCELLED, timezone.now()
        request.save(update_fields=["status", "closed_at"])
        request.run = run
        recorded.withdrawal(request, reason=reason)
        announce.changed(request)


def run_moved(run: Run) -> None:
    announce.run_moved(run)


def pull_opened(run: Run) -> None:
    announce.pull_opened(run)


def pending(runs: Sequence[Run]) -> dict[int, PendingRequest]:
    # By an expression: SQLite takes a status for rarer than fifty runs, and reads all open ones.
    standing = Coalesce("status", Value(""))
    waiting = FeedbackRequest.objects.filter(run__in=runs).alias(standing=standing)
    found = waiting.filter(standing=RequestStatus.PENDING).order_by()
    rows = found.values_list("run_id", "request_id", "due_at")
    return {run_pk: PendingRequest(request_id, due_at) for run_pk, request_id, due_at in rows}


def inquiries(run: Run) -> list[dict[str, object]]:
    return [thread.shape(each) for each in thread.open_for(run)]


def answered_in(run: Run) -> list[tuple[str, Mapping[str, object] | None]]:
    asked = Inquiry.objects.filter(request__run=run).exclude(session="")
    return list(asked.values_list("session", "usage"))


def approved_gates(run: Run) -> set[tuple[Gate, str, str]]:
    approved: set[tuple[Gate, str, str]] = set()
    for request in run.requests.prefetch_related("responses").order_by("pk"):
        kind = Gate(request.gate)
        gate = (kind, request.phase, "" if kind is Gate.PHASE else request.step)
        given = request.decision if request.status == RequestStatus.ANSWERED else None
        if given and not given.is_held and Action(given.action) is Action.CONTINUE:
            approved.add(gate)
        else:
            approved.discard(gate)
    return approved


_DECISIONS = Prepared(
    lambda run: (
        FeedbackRequest.objects.filter(run=run)
        .annotate(
            decided=FilteredRelation(
                "responses",
                condition=Q(responses__decides=True)
                & ~Q(responses__state=FeedbackResponse.State.RETRACTED),
            )
        )
        .order_by("pk")
        .values_list(*DECISION_FIELDS)
    ),
    -1,
)


def decisions(run: Run) -> list[dict[str, object]]:
    rows = _DECISIONS.rows(run.pk)
    return [decision_shape(dict(zip(DECISION_FIELDS, row, strict=True))) for row in rows]


def code_shown(run: Run) -> CodeShown | None:
    counts = (f"snapshot__{name}" for name in ("files", "additions", "deletions"))
    showing = run.requests.filter(snapshot__isnull=False).order_by("-pk")
    row = showing.values_list("request_id", *counts).first()
    shown = CodeShown(*row) if row else None
    return shown if shown and shown.files else None
