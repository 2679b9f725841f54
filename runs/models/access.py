"""What programs sign in with and have asked already; where people are, and what they put away."""

from datetime import UTC, date, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from runs.domain.values.actors import Role, Scope
from runs.models.naming import choices
from runs.models.projects import Project
from runs.trackers import Tracker


class AccessToken(models.Model):
    """A program's key; only its hash is kept."""

    name = models.CharField(max_length=100, unique=True)
    scope = models.CharField(max_length=20, choices=choices(Scope))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )  # whom a reviewer's token acts for
    # Bound to projects it opens those alone, and nothing at all when they are gone.
    is_bound = models.BooleanField(default=False, db_default=False)
    projects = models.ManyToManyField(Project, blank=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class GitHubLink(models.Model):
    """An account on a tracker that is a person's, by the number that stays when its login changes.

    The version before knew GitHub alone, and writes no tracker.
    """

    tracker = models.CharField(
        max_length=10, default=Tracker.GITHUB.value, db_default=Tracker.GITHUB.value
    )
    number = models.BigIntegerField()
    login = models.CharField(max_length=100)  # as it was then
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="github_links"
    )
    linked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["login"]
        constraints = [
            models.UniqueConstraint(fields=["number", "tracker"], name="tracker_login_linked_once")
        ]

    def __str__(self) -> str:
        return self.login


class GivenRole(models.Model):
    """The role that somebody's groups gave them when they last signed in, and the one before."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    role = models.CharField(max_length=20, choices=choices(Role))
    own_role = models.CharField(max_length=20, choices=choices(Role), blank=True, db_default="")
    at = models.DateTimeField(default=timezone.now, db_default=Now())

    def __str__(self) -> str:
        return f"{self.role} for {self.user}"


class StandIn(models.Model):
    """Who decides for somebody who is away."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    stand_in = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    until = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.stand_in} for {self.user}"

    @property
    def last_day(self) -> date:
        """The end, said as it was chosen."""
        return (self.until - timedelta(days=1)).astimezone(UTC).date()


class BrowserSession(models.Model):
    """A browser somebody is signed in with; it goes when its session goes, whoever deletes that."""

    LONGEST_ADDRESS = 45
    LONGEST_AGENT = 300

    session = models.OneToOneField(
        Session, on_delete=models.CASCADE, related_name="+", db_column="session_key"
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    began_at = models.DateTimeField(default=timezone.now, db_default=Now())
    last_seen_at = models.DateTimeField(default=timezone.now, db_default=Now())
    address = models.CharField(max_length=LONGEST_ADDRESS, blank=True, db_default="")
    agent = models.CharField(max_length=LONGEST_AGENT, blank=True, db_default="")

    class Meta:
        ordering = ["-last_seen_at", "-id"]

    def __str__(self) -> str:
        return f"{self.user} from {self.address}"


class IdempotencyKey(models.Model):
    """What a program was answered; the same key with the same body gets it again."""

    token = models.ForeignKey(AccessToken, on_delete=models.CASCADE, related_name="keys")
    key = models.CharField(max_length=200)
    asked = models.CharField(max_length=64)  # hash of method, address and body
    status = models.PositiveIntegerField(null=True, blank=True)  # None while it is being answered
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return self.key


class Dismissal(models.Model):
    """Something on the pages that somebody does not want to be shown again."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="dismissals"
    )
    what = models.CharField(max_length=40)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "what"], name="dismissed_once"),
        ]

    def __str__(self) -> str:
        return self.what
