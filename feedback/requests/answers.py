"""Records an answer and sends its run on; every channel ends here.

An answer given in the browser waits out its undo time first: it takes effect or is taken back,
and whoever is first decides.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from feedback.models import Announcement, FeedbackRequest, FeedbackResponse, WebhookEndpoint
from feedback.requests import announce, edits, ledger, recorded, shown
from feedback.requests.edits import Edit, KeptEdits
from feedback.requests.handover import authority
from feedback.requests.handover.authority import Ruling
from feedback.rules import making
from runs import engine
from runs.accounts import permissions
from runs.domain.planning import event_texts
from runs.domain.values.actors import POLICY, Actor, Source
from runs.domain.values.errors import (
    AlreadyAnswered,
    InvalidAnswer,
    NotAllowed,
    NotFound,
    Refused,
    RoundLimit,
    Stale,
)
from runs.domain.values.questions import (
    Action,
    Choice,
    Gate,
    begins_a_round,
    brings_fixes,
    resolve,
)
from runs.domain.values.status import RequestStatus
from runs.jobs import log_context, queue
from runs.jobs.table import Job
from runs.models import Run, clock
from runs.models.statements import Prepared, insert, update
from runs.workspaces import edited, recognising

_HELD, _TAKEN = FeedbackResponse.State.HELD, FeedbackResponse.State.TAKEN
# How long after its time a held answer may wait for its job before the sweep does the work.
_PATIENCE = timedelta(seconds=5)
_OTHER_CODE = "The code changed since this request was last shown. Review the changes, then answer."

_WEBHOOKS = WebhookEndpoint.objects.filter(
    Q(project=None) | Q(project=OuterRef("run__project")), disabled_at=None
)
# With what channels would look for when they hear of the answer.
_LOCKED = Prepared(
    lambda request_id: (
        FeedbackRequest.objects.select_for_update(of=("run",))
        .select_related("run__project", "attempt", "callback")
        .annotate(
            has_webhooks=Exists(_WEBHOOKS),
            is_announced=Exists(Announcement.objects.filter(request=OuterRef("pk"))),
        )
        .filter(request_id=request_id)
    ),
    "a request",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What was said beside the option."""

    comment: str = ""
    items: Sequence[Mapping[str, object]] = ()
    edits: Sequence[Edit] = ()  # of the files that are approved
    rule: Mapping[str, object] | None = None  # the standing rule that is to come of it

    def __bool__(self) -> bool:
        return bool(self.comment.strip() or self.items)


def respond(
    request_id: str,
    answer: str | Mapping[str, object],
    *,
    actor: Actor,
    words: Words | None = None,
    seal: str = "",
    seen: shown.Seen | None = None,
    override: str = "",
) -> FeedbackResponse:
    """Take one answer: first come, first served, bound to what its author saw.

    Who answers in a transaction of their own has looked before it, and hands on what was `seen`.
    With the reason for an `override` an operator decides alone, whoever is asked.
    """
    said = words if words is not None else Words()
    if seen is None:
        with _compared(request_id, actor) as now:
            return respond(
                request_id,
                answer,
                actor=actor,
                words=said,
                seal=seal,
                seen=now,
                override=override,
            )
    with transaction.atomic():
        request, run = _locked(request_id)
        check_open(request)
        # Only a quorum leaves a request open with answers that count.
        earlier = counted(request) if request.is_shared else []
        place = authority.check(request, actor, earlier, override=override)
        if seal and seal != request.seal:
            raise Stale(seal=request.seal)
        choice = resolve(request.feedback_type, request.choices, answer, request.form)
        if choice.needs_words and not said:
            said = replace(said, comment=override)
        if choice.needs_words and not said:
            raise InvalidAnswer(f"Say what should change when you choose {choice.response}.")
        _check_round(request, choice, actor)
        changed = edits.checked(request, choice, said.edits)
        rule = making.wished(request, choice.response, said.rule)
        if seen.has_other_code and shown.relies_on_it(request, choice.action):
            raise Stale(_OTHER_CODE, seal=request.seal)
        seat = authority.seat_of(request, actor, place)
        ruling = authority.ruling(request, seat, choice, earlier, override=override)
        decides, moment = ruling.decides, clock.noted()
        if decides:
            _close(request, moment)
        said = replace(said, edits=changed, rule=rule)
        response = _record(request, choice, said, actor, ruling, moment)
        if response.held_until:
            queue.enqueue_at(response.held_until, Job.TAKE_EFFECT, response.pk)
        else:
            _apply(run, request, response, actor, seen)
        if decides:
            announce.changed(request)
    return response


def _compared(request_id: str, actor: Actor) -> AbstractContextManager[shown.Seen]:
    if actor == POLICY or actor.rule:
        # Answers in the moment of the question, about code that was just read.
        return nullcontext(shown.look_at_files(request_id))
    return shown.compared(request_id)


def take_effect(response_pk: int) -> bool:
    """Send the run on; False when the answer was taken back or took effect before."""
    request_id = FeedbackResponse.objects.values_list("request__request_id", flat=True).get(
        pk=response_pk
    )
    seen = shown.look(request_id)
    with transaction.atomic():
        request, run = _locked(request_id)
        if not _claim(response_pk, _TAKEN):
            return False
        response = FeedbackResponse.objects.get(pk=response_pk)
        _apply(run, request, response, response.author, seen)
        announce.changed(request)
    return True


def retract(request_id: str, actor: Actor) -> FeedbackResponse:
    """Take an answer back while nothing has come of it; the request is open again."""
    with transaction.atomic():
        request, _run = _locked(request_id)
        response = _held_by(request, actor)
        if not _claim(response.pk, FeedbackResponse.State.RETRACTED):
            raise Refused("Too late to undo: the run has resumed.")
        recorded.retraction(response, reason="Retracted by its author.", actor=actor)
        request.status, request.closed_at = RequestStatus.PENDING, None
        request.save(update_fields=["status", "closed_at"])
        announce.changed(request)
    return response


def apply_now(request_id: str, actor: Actor) -> None:
    """End the undo time early; late is no error, because the run goes on either way."""
    shown.look(request_id)
    with transaction.atomic():
        request, _run = _locked(request_id)
        response = _held_by(request, actor)
        take_effect(response.pk)


def catch_up(run_pk: int | None = None, most: int = 100) -> int:
    """Let answers take effect whose job is gone; of one run those that are due."""
    held = FeedbackResponse.objects.filter(state=_HELD)
    now = clock.now()
    if run_pk is None:
        # Further ahead than any undo time: the clock was set back.
        too_late = now + timedelta(seconds=settings.FABER_UNDO_SECONDS) + _PATIENCE
        due = held.filter(Q(held_until__lt=now - _PATIENCE) | Q(held_until__gt=too_late))
    else:
        due = held.filter(request__run_id=run_pk, held_until__lte=now)
    return sum(take_effect(pk) for pk in list(due.values_list("pk", flat=True)[:most]))


def standing(request: FeedbackRequest) -> list[FeedbackResponse]:
    """The answers that count: all but those taken back."""
    return [response for response in request.responses.all() if not response.is_retracted]


def counted(request: FeedbackRequest) -> list[FeedbackResponse]:
    """Those of them that fill a quorum: who is said to have answered elsewhere does not."""
    return [response for response in standing(request) if not response.imported]


def _locked(request_id: str) -> tuple[FeedbackRequest, Run]:
    """The request and its run; the run's lock holds for both.

    Whoever waited for the lock sees the run as it is now, but the request as it was before: a
    request that many may answer is read again, and one that a single answer closes is closed by
    a conditional update.
    """
    request = _LOCKED.first(request_id)
    if request is None:
        raise NotFound(f"There is no request {request_id}.")
    log_context.note_run(request.run.run_id)
    if request.is_shared:
        request.refresh_from_db(fields=["status", "closed_at"])
    return request, request.run


def check_open(request: FeedbackRequest) -> None:
    if request.status == RequestStatus.PENDING:
        return
    decision = request.decision
    if decision is None:
        raise Refused(
            f"The request {request.request_id} was {request.status}. No decision is needed."
        )
    chosen, at = _shortened(decision.response), f"{decision.received_at:%Y-%m-%d %H:%M:%S} UTC"
    said = f"{decision.who} chose {chosen} ({decision.source}, {at})."
    timed_out = f"nobody had decided in time, so {chosen} was taken ({at})."
    raise AlreadyAnswered(
        f"Already answered: {timed_out if decision.timed_out else said}",
        who=decision.who,
        what=decision.response,
        when=decision.received_at.isoformat(),
        source=decision.source,
    )


def round_limit(request: FeedbackRequest, actor: Actor) -> str:
    """Why this person may not request changes any more; nothing when they may."""
    limit = request.round_limit
    return "" if limit and permissions.may_operate(actor, request.run.project) else limit


def _check_round(request: FeedbackRequest, choice: Choice, actor: Actor) -> None:
    if begins_a_round(choice) and (limit := round_limit(request, actor)):
        raise RoundLimit(limit, options=_others(request, choice))


def _others(request: FeedbackRequest, choice: Choice) -> list[str]:
    return [option.value for option in request.choices if option.value != choice.response]


def _close(request: FeedbackRequest, now: datetime) -> None:
    """One conditional update decides between answers that came at the same time."""
    still_open = {"id": request.pk, "status": RequestStatus.PENDING}
    request.status, request.closed_at = RequestStatus.ANSWERED, now
    closed = {"status": request.status, "closed_at": request.closed_at}
    if not update(FeedbackRequest, still_open, closed):
        request.refresh_from_db()
        check_open(request)


def _record(
    request: FeedbackRequest,
    choice: Choice,
    said: Words,
    actor: Actor,
    ruling: Ruling,
    now: datetime,
) -> FeedbackResponse:
    held_until = _held_until(now, actor) if ruling.decides else None
    response = FeedbackResponse(
        request=request,
        project_id=request.run.project_id,
        response=choice.response,
        action=choice.action.value,
        comment=said.comment.strip(),
        items=ledger.numbered(said.items),
        edits=[asdict(edit) for edit in said.edits],
        rule=dict(said.rule or {}),
        skipped=choice.skipped,
        decides=ruling.decides,
        override=ruling.override,
        state=_HELD if held_until else _TAKEN,
        held_until=held_until,
        user_id=actor.user_id,
        identity=actor.identity,
        provided_by={**actor.describe(), **ruling.in_place},
        seal=request.seal,
        received_at=now,
    )
    insert(response)
    request.decided_by = response if ruling.decides else None
    recorded.decision(response)
    return response


def _held_until(now: datetime, actor: Actor) -> datetime | None:
    """Only a click in the browser can be taken back; other channels go at once."""
    if actor.source is not Source.WEB or not settings.FABER_UNDO_SECONDS:
        return None
    return now + timedelta(seconds=settings.FABER_UNDO_SECONDS)


def _claim(response_pk: int, state: FeedbackResponse.State) -> bool:
    """One conditional update decides between the worker and the person."""
    held = FeedbackResponse.objects.filter(pk=response_pk, state=_HELD)
    return bool(held.update(state=state))


def _held_by(request: FeedbackRequest, actor: Actor) -> FeedbackResponse:
    decision = request.decision
    if decision is None:
        raise Refused("No answer to undo.")
    if decision.identity != actor.identity:
        raise NotAllowed(f"Only {decision.who} can undo or apply this answer.")
    return decision


def _apply(
    run: Run,
    request: FeedbackRequest,
    response: FeedbackResponse,
    actor: Actor,
    seen: shown.Seen,
) -> None:
    """Tell of an answer and do what it says; the caller holds the run's lock."""
    if run.is_foreign:  # whoever executes it hears of the answer, and the run goes on there
        return
    action = Action(response.action)
    received = event_texts.answered(
        request.feedback_type,
        response.response,
        phase=request.phase,
        step=request.step,
        request_id=request.request_id,
        actor=actor,
        marks=_marks(request, response),
    )
    if not response.decides:
        engine.record(run, [received])
        return
    if changed := shown.differences(run, request, response, seen):
        shown.ask_again(run, request, changed, actor=actor, events=[received])
        return
    approval = event_texts.approval(
        request.feedback_type,
        action,
        phase=request.phase,
        step=request.step,
        request_id=request.request_id,
        response=response.response,
        actor=actor,
    )
    making.make_wished(response, actor)
    kept = edits.keep(run, request, response)
    engine.resume(
        run,
        after=request.attempt,
        gate=Gate(request.gate),
        action=action,
        approved_gate=request.gate_key,
        request_id=request.request_id,
        feedback=_feedback(request, response, kept),
        events=[received, *kept.events, *approval],
        looked=seen.unchanged,
    )
    if kept.told and recognising.is_here(run):
        # The next step writes them where it is executed; a run that ends here has none.
        transaction.on_commit(partial(edited.write, run, kept.told), robust=True)


def _marks(request: FeedbackRequest, response: FeedbackResponse) -> dict[str, object]:
    """What an event tells besides who answered what."""
    marks: dict[str, object] = {
        "timed_out": response.timed_out,
        "override": response.override,
        "budget": _budget_raised(request, response),
    }
    return {mark: value for mark, value in marks.items() if value}


def _budget_raised(request: FeedbackRequest, response: FeedbackResponse) -> object:
    """The budget that the answer raises, as the request told it; mostly none."""
    raises = request.gate == Gate.BUDGET and response.action == Action.CONTINUE
    return request.context.get("budget") if raises else None


def _feedback(
    request: FeedbackRequest, response: FeedbackResponse, kept: KeptEdits
) -> dict[str, object]:
    """What the next step is told of the answer."""
    feedback: dict[str, object] = {
        "request_id": request.request_id,
        "type": request.type,
        "response": response.response,
        "comment": response.comment,
        "items": response.items,
        "provided_by": response.provided_by,
        # The exact step that asked, whatever step hears of it.
        "resume_point": request.resume_point,
    }
    if response.skipped:
        feedback["skipped"] = True
    if values := response.values:
        feedback["values"] = values
    if kept.told:
        feedback["edits"] = list(kept.told)
    if budget := _budget_raised(request, response):
        feedback["budget"] = budget
    if brings_fixes(response.response) and not response.is_text:
        feedback["suggested_fixes"] = list(request.background.fixes)
    return feedback


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
