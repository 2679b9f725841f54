"""What people are told of requests and runs, where they want it, and how far that got."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest
from runs.models import Project, Run


class NoticeKind(models.TextChoices):
    OPENED = "opened"
    REMINDER = "reminder"
    ESCALATED = "escalated"
    DELEGATED = "delegated"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    RUN_FINISHED = "run_finished"
    RUN_FAILED = "run_failed"
    TEST = "test"


# What ends a request: it follows up on the notice that told of it.
CLOSING = (NoticeKind.DECIDED, NoticeKind.WITHDRAWN, NoticeKind.SUPERSEDED)


class NoticeWish(models.TextChoices):
    """What somebody wants to be told of."""

    ASKED = "asked", "Requests that wait for me"
    PROJECTS = "projects", "Other requests in my projects"
    REMINDERS = "reminders", "Reminders"
    DECIDED = "decided", "Decisions on requests I was notified about"
    RUNS = "runs", "My runs that finish or fail"


DEFAULT_WISHES = (NoticeWish.ASKED, NoticeWish.REMINDERS, NoticeWish.DECIDED)


def _default_wishes() -> list[str]:
    return [wish.value for wish in DEFAULT_WISHES]


class Announcement(Outgoing):
    """Something to tell, noted in the transaction that made it so; due until it is addressed."""

    kind = models.CharField(max_length=20, choices=NoticeKind.choices)
    about = models.CharField(max_length=60)  # the request's or the run's own id
    number = models.PositiveIntegerField(default=0)  # the same may be told again: reminders
    request = models.ForeignKey(
        FeedbackRequest,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="announcements",
    )
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="announcements"
    )
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    to = models.JSONField(null=True, blank=True)  # accounts and groups; null: whoever it concerns

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["about", "kind", "number"], name="announced_once")
        ]
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="announcements_due")
        ]

    def __str__(self) -> str:
        return f"{self.about} {self.kind}"


class Notice(Outgoing):
    """What one receiver is told: one row, and so one message, for each announcement."""

    class Origin(models.TextChoices):
        """Whose wish it is."""

        SITE = "site"
        PROJECT = "project"
        PERSON = "person"

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="notices")
    receiver = models.CharField(max_length=40, db_index=True)  # a fingerprint, never the address
    service = models.CharField(max_length=40)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    in_digest = models.BooleanField(default=False)
    reference = models.JSONField(default=dict, blank=True)  # by which the message is found again
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["announcement", "receiver"], name="noticed_once")
        ]
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="notices_due"),
            # What is counted one by one; the others are most.
            models.Index(fields=["is_due"], condition=Q(sent_at=None), name="notices_unsent"),
            # What was tried in vain, by whom it did not reach.
            models.Index(
                fields=["receiver", "created_at"],
                condition=Q(sent_at=None) & ~Q(last_error=""),
                name="notices_failing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.announcement} to {self.told_to}"

    @property
    def told_to(self) -> str:
        """Who is told, and by which service."""
        name = self.user.get_username() if self.user else self.get_origin_display()
        return f"{name} ({self.service})"


class NoticeSettings(models.Model):
    """How somebody wants to be reached; who has none is sent mail about what is asked of them."""

    class Digest(models.TextChoices):
        OFF = "", "Each notice at once"
        HOURLY = "hourly", "One digest an hour"
        DAILY = "daily", "One digest a day"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_settings"
    )
    mail = models.BooleanField(default=True)
    email = models.EmailField(blank=True, default="", db_default="")  # empty: the account's
    urls = models.JSONField(default=list, blank=True)  # sealed: each is a secret
    wishes = models.JSONField(default=_default_wishes, blank=True)
    zone = models.CharField(max_length=60, default="UTC")
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    digest = models.CharField(max_length=10, choices=Digest.choices, blank=True, default=Digest.OFF)
    digest_at = models.TimeField(null=True, blank=True)  # of a daily one

    def __str__(self) -> str:
        return f"notices for {self.user}"
