"""Keeps in mind what is to be said on issues; it is said by `delivering`, after the commit."""

from collections.abc import Iterable

from django.db.models import F
from django.utils import timezone

from feedback.channels.github import schedule
from feedback.models import Delivery, FeedbackRequest, InboundComment
from feedback.requests import outbox
from runs import github
from runs.github import Place
from runs.jobs import queue
from runs.models import Run

DELIVER = "feedback.tasks.deliver"


def place_of(run: Run) -> Place | None:
    """The issue a run is about; None where GitHub is off or the run has no issue."""
    return github.place_of(run.project.name, run.work_id)


def show(request: FeedbackRequest) -> None:
    """Have a new request posted, in the transaction that opens it."""
    place = place_of(request.run)
    if place is None:
        return
    schedule.listen_to(place.repository)
    delivery = Delivery.objects.create(
        kind=Delivery.Kind.REQUEST,
        mark=request.request_id,
        request=request,
        run=request.run,
        repository=place.repository,
        issue=place.issue,
    )
    queue.enqueue(DELIVER, delivery.pk)


def update(request: FeedbackRequest) -> None:
    """Have the comment say what became of its request; nothing when there is none."""
    if not github.is_on():
        return
    _say_again(Delivery.objects.filter(request=request).values_list("pk", flat=True))


def tell_run(run: Run) -> None:
    """Have the start of a run told, or how it ended, where its project wants that."""
    place = place_of(run)
    if place is None or not run.project.tells_runs:
        return
    delivery, is_new = Delivery.objects.get_or_create(
        mark=f"run-{run.uuid}",
        defaults={
            "kind": Delivery.Kind.RUN,
            "run": run,
            "repository": place.repository,
            "issue": place.issue,
        },
    )
    if is_new:
        queue.enqueue(DELIVER, delivery.pk)
    else:
        _say_again([delivery.pk])


def reply(heard: InboundComment, body: str) -> None:
    """Answer a comment, in the transaction that acts on it: once, whatever comes after."""
    delivery, is_new = Delivery.objects.get_or_create(
        reply_to=heard,
        defaults={
            "kind": Delivery.Kind.REPLY,
            "mark": f"reply-{heard.comment_id}",
            "repository": heard.repository,
            "issue": heard.issue,
            "body": body,
        },
    )
    if is_new:
        queue.enqueue(DELIVER, delivery.pk)


def catch_up() -> None:
    """Queue what should have been said by now and was not."""
    outbox.queue_again(Delivery.objects.all(), DELIVER)


def _say_again(deliveries: Iterable[int]) -> None:
    for pk in deliveries:
        Delivery.objects.filter(pk=pk).update(
            is_due=True, version=F("version") + 1, attempts=0, next_try_at=timezone.now()
        )
        queue.enqueue(DELIVER, pk)
