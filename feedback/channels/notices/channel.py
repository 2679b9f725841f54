"""Notes down what people are to be told; `addressing` finds whom, and `sending` tells them."""

from collections.abc import Sequence
from uuid import uuid4

from django.conf import settings

from feedback.models import Announcement, FeedbackRequest, Notice, NoticeKind, NoticeSettings
from feedback.requests import outbox
from runs.domain.values.status import RequestStatus, RunStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Project, Run
from runs.models.statements import Prepared

_CLOSED = {
    RequestStatus.ANSWERED: NoticeKind.DECIDED,
    RequestStatus.CANCELLED: NoticeKind.WITHDRAWN,
    RequestStatus.SUPERSEDED: NoticeKind.SUPERSEDED,
}
_ENDED = {RunStatus.COMPLETED: NoticeKind.RUN_FINISHED, RunStatus.FAILED: NoticeKind.RUN_FAILED}


_TOLD_ANYWHERE = Prepared(
    lambda: NoticeSettings.objects.exclude(urls=[]).order_by().values_list("pk")[:1]
)
_ANNOUNCED = Prepared(
    lambda request: Announcement.objects.filter(request=request).order_by().values_list("pk")[:1],
    -1,
)


def opened(request: FeedbackRequest) -> None:
    if _is_heard(request.run.project):
        _announce(NoticeKind.OPENED, request.request_id, request=request, run=request.run)


def changed(request: FeedbackRequest) -> None:
    """Have those who know of the request told what became of it, once nothing can change."""
    kind = _CLOSED.get(RequestStatus(request.status))
    decision = request.decision
    if kind and not (decision and decision.is_held) and _was_told(request):
        _announce(kind, request.request_id, request=request, run=request.run)


def run_moved(run: Run) -> None:
    """Have the end of a run told; one that failed can fail again."""
    if (kind := _ENDED.get(run.state)) and _is_heard(run.project):
        number = run.last_event_id if kind is NoticeKind.RUN_FAILED else 0
        _announce(kind, str(run.uuid), number=number, run=run)


def reminded(request: FeedbackRequest, to: Sequence[str]) -> None:
    """Have it told again, once for each reminder; `to` are names, nobody: whoever may answer."""
    if _is_heard(request.run.project):
        _again(NoticeKind.REMINDER, request, to, number=request.reminded + 1)


def escalated(request: FeedbackRequest, to: Sequence[str]) -> None:
    """Have those told who are asked from now on."""
    if _is_heard(request.run.project):
        _again(NoticeKind.ESCALATED, request, to)


def delegated(request: FeedbackRequest, to: str) -> None:
    """Have whoever it was handed to told."""
    if _is_heard(request.run.project):
        _again(NoticeKind.DELEGATED, request, [to], number=len(request.delegated))


def _again(
    kind: NoticeKind, request: FeedbackRequest, to: Sequence[str], *, number: int = 0
) -> None:
    about = {"request": request, "run": request.run, "to": list(to) or None}
    _announce(kind, request.request_id, number=number, **about)


def send_test(*, project: Project | None = None, name: str = "") -> Announcement:
    """Have a test sent: to somebody, to a project's receivers, or else to the site's."""
    whom = [name] if name else None
    return _announce(NoticeKind.TEST, f"test-{uuid4()}", project=project, to=whom)


def catch_up() -> None:
    """Queue what should have been addressed or sent by now and was not."""
    outbox.catch_up(Announcement.objects.all(), Job.ADDRESS_NOTICES)
    outbox.catch_up(Notice.objects.all(), Job.SEND_NOTICE)


def _announce(kind: NoticeKind, about: str, *, number: int = 0, **fields: object) -> Announcement:
    announcement, is_new = Announcement.objects.get_or_create(
        kind=kind, about=about, number=number, defaults=fields
    )
    if is_new:
        queue.enqueue(Job.ADDRESS_NOTICES, announcement.pk)
    return announcement


def _is_heard(project: Project) -> bool:
    """Whether anybody could be told at all; who is told is found out later, without a lock."""
    anywhere = settings.FABER_NOTIFY_URLS or settings.FABER_EMAIL_URL or project.notify
    return bool(anywhere) or bool(_TOLD_ANYWHERE.rows())


def _was_told(request: FeedbackRequest) -> bool:
    known = getattr(request, "is_announced", None)  # who locks a request reads it along
    return bool(_ANNOUNCED.rows(request.pk) if known is None else known)
