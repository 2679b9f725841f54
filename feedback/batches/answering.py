"""Answers many requests of a group in one action: each on its own, each with its own result."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from django.db import DatabaseError, transaction

from feedback.batches import aggregate, answer_lines
from feedback.batches.aggregate import BatchRead, BatchRun
from feedback.batches.answer_lines import BatchAnswer, LineOutcome
from feedback.batches.group import Group
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import Words, respond
from feedback.requests.shown import newer, why_again
from runs import engine
from runs.accounts import permissions
from runs.chain import refusals
from runs.domain.values.actors import Actor, Source
from runs.domain.values.errors import FaberError, NotAllowed, Refused
from runs.domain.values.questions import Action
from runs.domain.values.status import RunStatus
from runs.models import Run

logger = logging.getLogger(__name__)

_OUTCOMES = {
    "already_answered": LineOutcome.ALREADY_ANSWERED,
    "stale": LineOutcome.STALE,
    "not_allowed": LineOutcome.NOT_ALLOWED,
    "invalid_response": LineOutcome.INVALID_RESPONSE,
    "round_limit": LineOutcome.INVALID_RESPONSE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What became of one line for one run."""

    line: int
    run_id: str
    outcome: LineOutcome
    message: str
    name: str = ""  # of the run
    decision: FeedbackResponse | None = None  # that was made before this answer came

    @property
    def is_applied(self) -> bool:
        return self.outcome is LineOutcome.APPLIED

    def shape(self) -> dict[str, object]:
        return {
            "line": self.line,
            "run_id": self.run_id or None,
            "result": self.outcome.value,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator(Actor):
    """Whoever answers for a batch: the same person to every rule, another channel on record."""

    batch_id: str
    known_as: str

    @property
    def identity(self) -> str:
        return self.known_as

    def describe(self) -> dict[str, object]:
        # Not super(): a dataclass with slots is made twice, and the first one is lost.
        return {**Actor.describe(self), "coordinator_id": self.batch_id}


def coordinating(actor: Actor, batch: Group) -> Coordinator:
    known = {field.name: getattr(actor, field.name) for field in fields(Actor)}
    known["source"] = Source.PARALLEL_COORDINATION
    return Coordinator(**known, batch_id=batch.batch_id, known_as=actor.identity)


def answer_text(batch: Group, text: str, actor: Actor) -> list[RowResult]:
    """Lines such as `#124: approve`; every line has a result, and a good one is carried out."""
    known = aggregate.read(batch)
    return respond_many(known, answer_lines.read(text, known.members), actor)


def answer_listed(
    batch: Group, answers: Mapping[str, Mapping[str, str]], actor: Actor
) -> list[RowResult]:
    """The same for answers named one by one: id → `{response, comment}`."""
    known = aggregate.read(batch)
    return respond_many(known, answer_lines.listed(answers, known.members), actor)


def respond_many(
    known: BatchRead,
    answers: Sequence[BatchAnswer],
    actor: Actor,
    seals: Mapping[str, str] | None = None,
) -> list[RowResult]:
    """Carry out what was understood: one transaction for each run, so that none holds another up.

    A seal binds an answer to what its author saw; a run that asks something else by now refuses it.
    """
    rows = {row.run.run_id: row for row in known.rows}
    by = coordinating(actor, known.batch)
    seen = seals or {}
    return [
        _refused(answer, rows.get(answer.run_id))
        if answer.refused
        else _result(answer, rows[answer.run_id], actor, by, seen.get(answer.run_id, ""))
        for answer in answers
    ]


def _refused(answer: BatchAnswer, row: BatchRun | None) -> RowResult:
    outcome, message = answer.refused or LineOutcome.FAILED, answer.message
    decision = _made_meanwhile(row) if row and outcome is LineOutcome.NOT_AWAITING else None
    if row and decision:
        outcome = LineOutcome.ALREADY_ANSWERED
        message = f"Run {row.member.name}: {decision.who} already chose {decision.response}."
    return RowResult(
        line=answer.line,
        run_id=answer.run_id,
        outcome=outcome,
        message=message,
        name=row.member.name if row else "",
        decision=decision,
    )


def _made_meanwhile(row: BatchRun) -> FeedbackResponse | None:
    """The decision that a run which asks nothing now is going on with."""
    if row.run.state not in (RunStatus.IN_PROGRESS, RunStatus.AWAITING_FEEDBACK):
        return None
    last = row.run.requests.order_by("-pk").first()
    return last.decision if last else None


def _result(
    answer: BatchAnswer, row: BatchRun, actor: Actor, by: Coordinator, seal: str
) -> RowResult:
    decision = None
    try:
        message = _carry_out(answer, row, actor, by, seal)
        outcome = LineOutcome.APPLIED
    except FaberError as error:
        asked = row.asked.request_id if row.asked else ""
        what = f"{answer.response} for a batch"
        refusals.note(error, actor=actor, what=what, run_id=row.run.run_id, request_id=asked)
        outcome = _OUTCOMES.get(error.code, LineOutcome.NOT_AWAITING)
        message = str(error)
        if row.asked and outcome is LineOutcome.ALREADY_ANSWERED:
            decision = FeedbackRequest.objects.get(pk=row.asked.pk).decision
    except DatabaseError:
        logger.exception("The answer to %s could not be recorded.", row.run.run_id)
        outcome, message = LineOutcome.FAILED, "Could not record the answer. Try again."
    named = f"Run {row.member.name}: {message}"
    return RowResult(
        line=answer.line,
        run_id=answer.run_id,
        outcome=outcome,
        message=named,
        name=row.member.name,
        decision=decision,
    )


def _carry_out(answer: BatchAnswer, row: BatchRun, actor: Actor, by: Coordinator, seal: str) -> str:
    if row.asked is None:
        return _steer(answer, row.run, by)
    # As the channel they came through knows them: a git name, say, is nobody's account.
    if refusal := permissions.refusal_to_answer(actor, row.run, row.asked.deciders):
        raise NotAllowed(refusal)
    response = respond(
        row.asked.request_id,
        answer.response,
        actor=by,
        words=Words(comment=answer.comment),
        seal=seal,
    )
    if not response.decides:
        return f"{answer.response}, waiting for other approvals."
    if again := newer(response.request):
        return f"{_shortened(answer.response)}, but the run asks again: {why_again(again)}"
    return f"{_shortened(answer.response)}."


def _steer(answer: BatchAnswer, run: Run, by: Coordinator) -> str:
    """A failed run that asks nothing is sent on from its step, or ended."""
    with transaction.atomic():
        current = Run.objects.select_for_update().get(pk=run.pk)
        if current.state is not RunStatus.FAILED:
            raise Refused(f"it is {current.state.label} by now.")
        if answer.response == Action.ABORT:
            engine.cancel(run.pk, reason=answer.comment or f"abort in {by.batch_id}", actor=by)
        else:
            engine.resume_stopped(run.pk, by)
    return f"{answer.response}."


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
