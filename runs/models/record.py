"""What a run leaves behind: its history, its files, what it changed."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.models.run import Run
from runs.models.steps import StepAttempt


class Event(models.Model):
    """One line of a run's history: never changed, never left out, chained by hash."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    number = models.PositiveIntegerField()
    type = models.CharField(max_length=60)
    timestamp = models.DateTimeField()
    phase = models.CharField(max_length=20, blank=True)
    step = models.CharField(max_length=150, blank=True)
    document = models.JSONField()  # the whole event, as the run directory holds it
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="event_numbered_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="event_numbered_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.type}"


class Artifact(models.Model):
    """One revision of a file that a step named, kept as it was then."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="revisions")
    attempt = models.ForeignKey(
        StepAttempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="revisions"
    )
    path = models.CharField(max_length=500)
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["run", "path", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "path", "revision"], name="artifact_revision_numbered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} revision {self.revision}"

    @property
    def text(self) -> str:
        return bytes(self.content).decode("utf-8", errors="replace")

    @property
    def lines(self) -> list[str]:
        """The lines as renderers and editors count them, which is not how `splitlines` does."""
        text = self.text.replace("\r\n", "\n").replace("\r", "\n")
        return text.removesuffix("\n").split("\n")

    @property
    def is_text(self) -> bool:
        return b"\0" not in bytes(self.content)


class CodeSnapshot(models.Model):
    """What a run had changed in its repository when it asked; it outlives both."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="snapshots")
    place = models.CharField(max_length=200)  # of the question; rounds are counted by it
    previous = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )  # what the round before showed
    base = models.CharField(max_length=64)
    head = models.CharField(max_length=64)
    tree = models.CharField(max_length=64)
    files = models.PositiveIntegerField()
    additions = models.PositiveIntegerField()
    deletions = models.PositiveIntegerField()
    commits = models.PositiveIntegerField()
    listing = models.BinaryField()  # every file and commit, compressed; see `runs.changes.store`
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.base[:12]}..{self.head[:12]}"
