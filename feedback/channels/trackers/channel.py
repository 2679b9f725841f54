"""Notes down what is to be said on issues; `delivery` says it, after the commit."""

from django.db import transaction
from django.db.models import F, QuerySet

from feedback.channels.trackers import checks, replies, schedule
from feedback.models import (
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    InboundComment,
    InboundKind,
    Inquiry,
)
from feedback.requests import outbox
from runs import trackers
from runs.domain.values.actors import Source
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Batch, Run, clock
from runs.trackers import Place, Tracker


def opened(request: FeedbackRequest) -> None:
    """Have a new request posted."""
    if place := place_of(request.run):
        schedule.listen_to(place.tracker, place.repository)
        _say(Delivery.Kind.REQUEST, request.request_id, place, request=request, run=request.run)
        _bring_up_to_date(request.run)
    _tell_batch(request.run)


def changed(request: FeedbackRequest) -> None:
    """Have the comment say what became of its request; nothing when there is none."""
    is_again = request.status == RequestStatus.SUPERSEDED
    running = trackers.running()
    if running and (is_again or not _was_said(request.decision)):
        _say_again(Delivery.objects.filter(request=request, tracker__in=running))
    _bring_up_to_date(request.run)


def replied(inquiry: Inquiry) -> None:
    """Have an agent's answer posted where its question was asked."""
    place = place_of(inquiry.request.run)
    if place and inquiry.asked_by.get("source") == Source.ISSUE_COMMENT:
        mark, body = f"inquiry-{inquiry.pk}", replies.answered_by_agent(inquiry)
        _say(Delivery.Kind.REPLY, mark, place, body=body)


def run_moved(run: Run) -> None:
    """Have the issue show how a run stands, where its project wants that or it began there."""
    if not (run.project.tells_runs and follow(run)):
        _bring_up_to_date(run)
    if run.state.is_final:
        _tell_batch(run)


def follow(run: Run) -> bool:
    """Keep one comment about a run on its issue from now on; False when there is one already."""
    place = place_of(run)
    if place is None:
        return False
    schedule.listen_to(place.tracker, place.repository)
    return _say(Delivery.Kind.RUN, f"run-{run.uuid}", place, run=run)


def catch_up() -> None:
    """Queue what should have been said by now and was not, and read what came meanwhile."""
    if running := trackers.running():
        outbox.catch_up(Delivery.objects.filter(tracker__in=running), Job.DELIVER)
        schedule.catch_up(running)


def place_of(run: Run) -> Place | None:
    """The issue a run is about; None where its tracker is off or the run has no issue."""
    project = run.project
    return trackers.place_of(project.tracker, project.tracked_as, run.work_id)


def reply(heard: InboundComment, body: str) -> None:
    """Answer a comment, in the transaction that acts on it: once, whatever comes after."""
    # A comment of GitHub's has no more to its mark: those of the versions before are found by it.
    of = "" if heard.tracker == Tracker.GITHUB else f"{heard.tracker}-"
    to = "" if heard.kind == InboundKind.COMMENT else f"{heard.kind}-"
    mark = f"reply-{of}{to}{heard.comment_id}"
    _say(Delivery.Kind.REPLY, mark, heard.place, reply_to=heard, body=body)


def keep_saying(mark: str, place: Place, body: str) -> None:
    """Have one comment that says this now, whatever it said before."""
    with transaction.atomic():
        said = Delivery.objects.filter(mark=mark)
        is_new = _say(Delivery.Kind.REPLY, mark, place, body=body)
        if not is_new and said.exclude(body=body).update(body=body):
            _say_again(said)


def pull_opened(run: Run) -> None:
    """Have a check set on the pull request: pending until the run's gates are decided."""
    if place := checks.pull_of(run):
        mark = f"check-{run.uuid}-{place.issue}"
        if not _say(Delivery.Kind.CHECK, mark, place, run=run):
            _say_again(Delivery.objects.filter(mark=mark))


def is_followed(run: Run) -> bool:
    """Whether one comment on the issue shows how the run stands."""
    return run.deliveries.filter(kind=Delivery.Kind.RUN).exists()


def _bring_up_to_date(run: Run) -> None:
    """The comment that follows a run, and the check on its pull request, say how it stands now."""
    kinds = (Delivery.Kind.RUN, Delivery.Kind.CHECK)
    if running := trackers.running():
        _say_again(run.deliveries.filter(kind__in=kinds, tracker__in=running))


def _was_said(decision: FeedbackResponse | None) -> bool:
    """Whether it only takes effect now: the comment tells of it since its undo time began."""
    return decision is not None and decision.held_until is not None and not decision.is_held


def _tell_batch(run: Run) -> None:
    """Have the comment about the whole group say that one of it has stopped."""
    if run.batch_id and Batch.objects.filter(pk=run.batch_id).exclude(issue="").exists():
        queue.enqueue(Job.TELL_BATCH, run.batch_id)


def _say(kind: Delivery.Kind, mark: str, place: Place, **about: object) -> bool:
    """Have a comment posted; False when there is one with this mark already."""
    delivery, is_new = Delivery.objects.get_or_create(
        mark=mark,
        defaults={
            "kind": kind,
            "tracker": place.tracker,
            "repository": place.repository,
            "issue": place.issue,
            "is_merge_request": place.is_merge_request,
            **about,
        },
    )
    if is_new:
        queue.enqueue(Job.DELIVER, delivery.pk)
    return is_new


def _say_again(deliveries: QuerySet[Delivery]) -> None:
    """Have comments brought up to date in place."""
    for pk in list(deliveries.values_list("pk", flat=True)):
        said = Delivery.objects.filter(pk=pk)
        said.update(version=F("version") + 1)
        # Who is about to post it looks at the version afterwards; a second one would not find
        # that comment yet, and post another.
        said.filter(is_due=False).update(is_due=True, attempts=0, next_try_at=clock.now())
        queue.enqueue(Job.DELIVER, pk)
