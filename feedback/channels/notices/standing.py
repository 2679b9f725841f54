"""How far notices got, for pages, commands and the doctor; no address is ever shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from feedback.channels.notices.told import HEADINGS
from feedback.models import Announcement, FeedbackRequest, Notice, NoticeKind
from runs.models import clock

MOST_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeShown:
    """A notice as people see it."""

    notice: Notice

    @property
    def to(self) -> str:
        return self.notice.told_to

    @property
    def what(self) -> str:
        return HEADINGS[NoticeKind(self.notice.announcement.kind)]

    @property
    def about(self) -> str:
        announcement = self.notice.announcement
        subject = announcement.request or announcement.run
        return subject.title if subject else ""

    @property
    def state(self) -> str:
        """sent, dropped, failing, given up, or waiting."""
        notice = self.notice
        if notice.sent_at:
            return "sent"
        if notice.is_due:
            return "failing" if notice.last_error else "waiting"
        return "given up" if notice.last_error else "dropped"

    @property
    def is_later(self) -> bool:
        """Whether it waits for its time, and not for a worker."""
        return self.state == "waiting" and self.notice.next_try_at > clock.now()

    @property
    def why_dropped(self) -> str:
        return str(self.notice.reference.get("dropped", ""))


def of_request(request: FeedbackRequest) -> list[NoticeShown]:
    """Who was told of a request, or is to be; the first notice of each."""
    rows = _rows().filter(announcement__request=request).order_by("pk")
    first: dict[str, Notice] = {}
    for notice in rows:
        if not notice.reference.get("dropped"):
            first.setdefault(notice.receiver, notice)
    return [NoticeShown(notice=notice) for notice in first.values()]


def of_person(user: User) -> list[NoticeShown]:
    """What somebody was sent last."""
    return _shown(_rows().filter(user=user).order_by("-pk")[:MOST_LISTED])


def of_announcement(announcement: Announcement) -> list[NoticeShown]:
    return _shown(_rows().filter(announcement=announcement).order_by("pk"))


def failing() -> QuerySet[Notice]:
    """What was tried in vain, and what was given up."""
    return Notice.objects.filter(~Q(last_error=""), sent_at=None)


def _rows() -> QuerySet[Notice]:
    return Notice.objects.select_related(
        "user", "announcement__request__run__project", "announcement__run__project"
    )


def _shown(rows: Sequence[Notice] | QuerySet[Notice]) -> list[NoticeShown]:
    return [NoticeShown(notice=notice) for notice in rows]
