"""Notes down what is to be said on issues; `delivery` says it, after the commit."""

from django.db import transaction
from django.db.models import F, QuerySet

from feedback.channels.github import schedule
from feedback.models import Delivery, FeedbackRequest, FeedbackResponse, InboundComment
from feedback.requests import outbox
from runs import github
from runs.domain.values.status import RequestStatus, RunStatus
from runs.github import Place
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Batch, Run, clock


def opened(request: FeedbackRequest) -> None:
    """Have a new request posted."""
    if place := place_of(request.run):
        schedule.listen_to(place.repository)
        _say(Delivery.Kind.REQUEST, request.request_id, place, request=request, run=request.run)
    _tell_batch(request.run)


def changed(request: FeedbackRequest) -> None:
    """Have the comment say what became of its request; nothing when there is none."""
    is_again = request.status == RequestStatus.SUPERSEDED
    if github.is_on() and (is_again or not _was_said(request.decision)):
        _say_again(Delivery.objects.filter(request=request))


def run_moved(run: Run) -> None:
    """Have the start of a run told, or how it ended, where its project wants that."""
    place = place_of(run)
    if place and run.project.tells_runs and run.state is not RunStatus.FAILED:
        mark = f"run-{run.uuid}"
        if not _say(Delivery.Kind.RUN, mark, place, run=run):
            _say_again(Delivery.objects.filter(mark=mark))
    if run.state.is_final:
        _tell_batch(run)


def catch_up() -> None:
    """Queue what should have been said by now and was not, and read what came meanwhile."""
    if github.is_on():
        outbox.catch_up(Delivery.objects.all(), Job.DELIVER)
        schedule.catch_up()


def place_of(run: Run) -> Place | None:
    """The issue a run is about; None where GitHub is off or the run has no issue."""
    return github.place_of(run.project.name, run.work_id)


def reply(heard: InboundComment, body: str) -> None:
    """Answer a comment, in the transaction that acts on it: once, whatever comes after."""
    place = Place(repository=heard.repository, issue=heard.issue)
    _say(Delivery.Kind.REPLY, f"reply-{heard.comment_id}", place, reply_to=heard, body=body)


def keep_saying(mark: str, place: Place, body: str) -> None:
    """Have one comment that says this now, whatever it said before."""
    with transaction.atomic():
        said = Delivery.objects.filter(mark=mark)
        is_new = _say(Delivery.Kind.REPLY, mark, place, body=body)
        if not is_new and said.exclude(body=body).update(body=body):
            _say_again(said)


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
        defaults={"kind": kind, "repository": place.repository, "issue": place.issue, **about},
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
