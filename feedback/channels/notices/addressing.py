"""Finds who is to be told of something, and makes one row for each place it goes to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from feedback.channels.notices import receivers
from feedback.channels.notices.hours import Hours
from feedback.channels.notices.receivers import Reachable, Receiver
from feedback.models import Announcement, FeedbackRequest, Notice, NoticeKind, NoticeWish
from feedback.models.notices import CLOSING
from feedback.requests import outbox
from runs.accounts import membership, permissions, users
from runs.domain.values.members import GROUP, read_members, role_of
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, clock

_TURN = timedelta(seconds=9)
_RUNS = (NoticeKind.RUN_FINISHED, NoticeKind.RUN_FAILED)
_PERSONAL = (NoticeKind.ESCALATED, NoticeKind.DELEGATED)
_AGAIN = (NoticeKind.REMINDER, *_PERSONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    receiver: Receiver
    hours: Hours


def address(announcement_pk: int) -> None:
    """Make the rows of everybody who is told; they are sent one by one."""
    rows = Announcement.objects.select_related("request__run__project", "run__project", "project")
    announcement = outbox.take(rows, announcement_pk, turn=_TURN)
    if announcement is None:
        return
    whom = [] if _is_moot(announcement) else list(_everybody(announcement))
    with transaction.atomic():
        if Announcement.objects.filter(pk=announcement.pk, is_due=True).update(is_due=False):
            for each in _each_once(whom):
                _note(announcement, each)


def _is_moot(announcement: Announcement) -> bool:
    """Whether nobody has to do any more what it calls for."""
    asked, kind = announcement.request, announcement.kind
    calls = kind in (NoticeKind.OPENED, *_AGAIN)
    return asked is not None and calls and asked.status != RequestStatus.PENDING


def _note(announcement: Announcement, to: Addressed) -> None:
    now = clock.now()
    at = _moment(announcement, to, now)
    notice, is_new = Notice.objects.get_or_create(
        announcement=announcement,
        receiver=to.receiver.key,
        defaults={
            "service": to.receiver.service,
            "origin": to.receiver.origin,
            "user_id": to.receiver.user_id,
            "in_digest": to.hours.collects and announcement.kind != NoticeKind.TEST,
            "next_try_at": at,
        },
    )
    if is_new and at > now:
        queue.enqueue_at(at, Job.SEND_NOTICE, notice.pk)
    elif is_new:
        queue.enqueue(Job.SEND_NOTICE, notice.pk)


def _moment(announcement: Announcement, to: Addressed, now: datetime) -> datetime:
    if announcement.kind == NoticeKind.TEST:
        return now
    return to.hours.moment(now)


def _each_once(whom: list[Addressed]) -> Iterator[Addressed]:
    """Of two who name the same address the first counts: the site, then the project."""
    known: set[str] = set()
    for each in whom:
        if each.receiver.key not in known:
            known.add(each.receiver.key)
            yield each


def _everybody(announcement: Announcement) -> Iterator[Addressed]:
    if announcement.kind == NoticeKind.TEST:
        yield from _tested(announcement)
        return
    if announcement.kind in CLOSING:
        yield from _who_knows(announcement)
    elif announcement.kind != NoticeKind.DELEGATED:
        yield from _shared(announcement)
    for person in _people():
        if _concerns(announcement, person):
            yield from _all_of(person)


def _tested(announcement: Announcement) -> Iterator[Addressed]:
    if announcement.project:
        shared = receivers.of_project(announcement.project)
    elif announcement.to is None:
        shared = receivers.of_site()
    else:
        shared = iter(())
    yield from (Addressed(receiver=each, hours=Hours()) for each in shared)
    for person in _people():
        if _is_named(person.user, announcement.to or []):
            yield from _all_of(person)


def _shared(announcement: Announcement) -> Iterator[Addressed]:
    """The receivers that are nobody's own."""
    yield from (Addressed(receiver=each, hours=Hours()) for each in receivers.of_site())
    if announcement.run:
        for each in receivers.of_project(announcement.run.project):
            yield Addressed(receiver=each, hours=Hours())


def _who_knows(announcement: Announcement) -> Iterator[Addressed]:
    """Shared receivers that were told of the request."""
    told = _told_of(announcement.request)
    yield from (each for each in _shared(announcement) if each.receiver.key in told)


def _told_of(asked: FeedbackRequest | None) -> set[str]:
    told = Notice.objects.filter(announcement__request=asked)
    return set(told.exclude(announcement__kind__in=CLOSING).values_list("receiver", flat=True))


def _all_of(person: Reachable) -> Iterator[Addressed]:
    return (Addressed(receiver=each, hours=person.hours) for each in person.receivers)


def _people() -> Iterator[Reachable]:
    """Everybody who can be reached."""
    accounts = get_user_model().objects.filter(is_active=True).select_related("notice_settings")
    has_set = Q(notice_settings__isnull=False)  # an address of their own, perhaps
    reachable = ~Q(email="") | has_set
    for user in accounts.filter(reachable).order_by("pk"):
        if (found := receivers.person(user)).receivers:
            yield found


def _concerns(announcement: Announcement, person: Reachable) -> bool:
    asked, run, kind = announcement.request, announcement.run, announcement.kind
    if kind in _RUNS and run:
        return person.wants(NoticeWish.RUNS) and _is_theirs(run, person)
    if asked is None:
        return False
    if kind in CLOSING:
        return person.wants(NoticeWish.DECIDED) and _knows(asked, person)
    if kind in _PERSONAL:  # whoever is named for it, whatever else they want
        return _is_named(person.user, announcement.to or []) and _may_answer(asked, person.user)
    if kind == NoticeKind.REMINDER:
        return person.wants(NoticeWish.REMINDERS) and _is_asked(asked, person.user)
    if person.wants(NoticeWish.ASKED) and _is_asked(asked, person.user):
        return True
    return person.wants(NoticeWish.PROJECTS) and _is_member(asked.run, person.user)


def _is_named(user: User, names: list[str]) -> bool:
    groups = {f"{GROUP}{name}" for name in users.groups_of(user)}
    own = user.get_username().casefold()
    return any(name in groups or name.casefold() == own for name in names)


def _is_asked(asked: FeedbackRequest, user: User) -> bool:
    """Whether it waits for somebody: for whoever it is assigned to, else for all who may answer."""
    is_others = asked.assignee and not _is_named(user, [asked.assignee])
    return not is_others and _may_answer(asked, user)


def _may_answer(asked: FeedbackRequest, user: User) -> bool:
    actor = users.actor_of(user)
    return not permissions.refusal_to_answer(actor, asked.run, asked.deciders)


def _is_member(run: Run, user: User) -> bool:
    """Whether it is a project of theirs, and not merely one that everybody sees."""
    actor, project = users.actor_of(user), run.project
    is_named = role_of(actor, read_members(project.members)) is not None
    return is_named and membership.sees(actor, project)


def _is_theirs(run: Run, person: Reachable) -> bool:
    if run.started_by_user_id == person.user.pk:
        return True
    return person.wants(NoticeWish.PROJECTS) and _is_member(run, person.user)


def _knows(asked: FeedbackRequest, person: Reachable) -> bool:
    """Whether somebody was told of a request."""
    told = Notice.objects.filter(announcement__request=asked, user=person.user)
    return told.exclude(announcement__kind__in=CLOSING).exists()
