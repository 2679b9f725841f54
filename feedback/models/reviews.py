"""A reviewer's work before it is sent."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from feedback.models.requests import FeedbackRequest, FeedbackResponse
from runs.domain.values.questions import ItemKind
from runs.models import Run

KINDS = [(kind.value, kind.label) for kind in ItemKind]


class ReviewComment(models.Model):
    """A remark on lines of a file; its author's alone until an answer takes it along."""

    class Side(models.TextChoices):
        """Which of the two a line of the code changes belongs to; an artifact's has none."""

        OLD = "old"
        NEW = "new"

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="remarks")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    response = models.ForeignKey(
        FeedbackResponse, null=True, blank=True, on_delete=models.SET_NULL, related_name="remarks"
    )  # the answer it went with
    path = models.CharField(max_length=500)
    revision = models.PositiveIntegerField()  # of an artifact; 0 in the code changes
    side = models.CharField(
        max_length=3, choices=Side.choices, blank=True, default="", db_default=""
    )
    line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    quote = models.TextField(blank=True)
    body = models.TextField()
    replacement = models.TextField(blank=True, default="", db_default="")  # of a suggestion
    kind = models.CharField(max_length=10, choices=KINDS, default=ItemKind.MUST.value)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["path", "line", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(line__gte=1) & Q(end_line__gte=models.F("line")),
                name="remark_on_lines_in_order",
            )
        ]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.body[:40]}"

    @property
    def is_edit(self) -> bool:
        """Whether approving can carry it out: lines that are gone cannot be replaced."""
        return self.is_suggestion and self.side != self.Side.OLD

    @property
    def is_suggestion(self) -> bool:
        return self.kind == ItemKind.SUGGESTION

    @property
    def lines(self) -> str:
        """`line 3`, `old line 3` or `lines 3–5`."""
        old = "old " if self.side == self.Side.OLD else ""
        if self.line == self.end_line:
            return f"{old}line {self.line}"
        return f"{old}lines {self.line}–{self.end_line}"


class ViewedFile(models.Model):
    """A changed file that somebody has viewed; one that changes again counts as not viewed."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    viewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    path = models.CharField(max_length=500)
    part = models.CharField(max_length=64)  # what there was to see

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "viewer", "path"], name="viewed_once")
        ]

    def __str__(self) -> str:
        return f"{self.path} viewed by {self.viewer}"


class Draft(models.Model):
    """What somebody has typed on a request and not sent yet, on whichever machine."""

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="drafts")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)  # fields by name, begun line comments by `begun …`
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "author"], name="one_draft_per_person")
        ]

    def __str__(self) -> str:
        return f"draft of {self.author} on {self.request}"


class BatchDraft(models.Model):
    """The same for the page of a batch, or for the one of selected runs."""

    batch_id = models.CharField(max_length=60, blank=True)  # nothing for all selections
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)  # fields by name
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch_id", "author"], name="one_batch_draft_per_person"
            )
        ]

    def __str__(self) -> str:
        return f"draft of {self.author} on {self.batch_id or 'selected runs'}"
