"""Where notices go: the site's addresses, a project's, a person's own, and a person's mail."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.conf import settings
from django.contrib.auth.models import User

from feedback.channels.notices.hours import Hours
from feedback.models import Notice, NoticeSettings, NoticeWish
from feedback.models.notices import DEFAULT_WISHES
from runs.accounts import notify_urls
from runs.models import Project

MAIL = "e-mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """One place that a notice goes to; its address is a secret and never printed."""

    key: str
    service: str
    origin: Notice.Origin
    url: str = field(default="", repr=False)
    email: str = ""
    user_id: int | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether whoever runs the site has named it; a person's own must lead outside."""
        return self.origin is not Notice.Origin.PERSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """Somebody who can be reached, and how they want it."""

    user: User
    wishes: frozenset[str]
    hours: Hours
    receivers: tuple[Receiver, ...]

    def wants(self, wish: NoticeWish) -> bool:
        return wish.value in self.wishes


def of_site() -> Iterator[Receiver]:
    for url in settings.FABER_NOTIFY_URLS:
        yield _at(url, Notice.Origin.SITE)


def of_project(project: Project) -> Iterator[Receiver]:
    for url in notify_urls.unseal(project.notify):
        yield _at(url, Notice.Origin.PROJECT)


def settings_of(user: User) -> NoticeSettings:
    """What somebody has set, or what holds until they do."""
    return getattr(user, "notice_settings", None) or NoticeSettings(
        user=user, wishes=[wish.value for wish in DEFAULT_WISHES]
    )


def reread(user: User) -> User:
    """The account as it is kept, whatever a form has filled in."""
    return User.objects.select_related("notice_settings").get(pk=user.pk)


def person(user: User) -> Reachable:
    wanted = settings_of(user)
    return Reachable(
        user=user,
        wishes=frozenset(wanted.wishes),
        hours=_hours(wanted),
        receivers=tuple(_of_person(user, wanted)),
    )


def find(notice: Notice) -> Receiver | None:
    """Where a notice goes now; None when nobody wants it there any more."""
    return next((each for each in _candidates(notice) if each.key == notice.receiver), None)


def _candidates(notice: Notice) -> Iterator[Receiver]:
    announcement = notice.announcement
    if notice.origin == Notice.Origin.SITE:
        yield from of_site()
    elif notice.origin == Notice.Origin.PROJECT:
        project = announcement.project or (announcement.run.project if announcement.run else None)
        yield from of_project(project) if project else ()
    elif notice.user and notice.user.is_active:
        yield from person(notice.user).receivers


def _of_person(user: User, wanted: NoticeSettings) -> Iterator[Receiver]:
    email = wanted.email or user.email
    if email and wanted.mail and settings.FABER_EMAIL_URL:
        yield Receiver(
            key=f"mail-{user.pk}",
            service=MAIL,
            origin=Notice.Origin.PERSON,
            email=email,
            user_id=user.pk,
        )
    for url in notify_urls.unseal(wanted.urls):
        yield _at(url, Notice.Origin.PERSON, user_id=user.pk)


def _at(url: str, origin: Notice.Origin, user_id: int | None = None) -> Receiver:
    return Receiver(
        key=notify_urls.fingerprint(url),
        service=notify_urls.service_of(url),
        origin=origin,
        url=url,
        user_id=user_id,
    )


def _hours(wanted: NoticeSettings) -> Hours:
    is_daily = wanted.digest == NoticeSettings.Digest.DAILY
    return Hours(
        zone=wanted.zone,
        quiet_from=wanted.quiet_from,
        quiet_until=wanted.quiet_until,
        every_hour=wanted.digest == NoticeSettings.Digest.HOURLY,
        every_day_at=wanted.digest_at if is_daily else None,
    )
