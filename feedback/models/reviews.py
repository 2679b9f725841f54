"""A reviewer's work before it is sent."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from feedback.models.requests import FeedbackRequest, FeedbackResponse
from runs.domain.values.questions import ItemKind

KINDS = [(kind.value, kind.label) for kind in ItemKind]


class ReviewComment(models.Model):
    """A remark on lines of an artifact; its author's alone until an answer takes it along."""

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="remarks")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    response = models.ForeignKey(
        FeedbackResponse, null=True, blank=True, on_delete=models.SET_NULL, related_name="remarks"
    )  # the answer it went with
    path = models.CharField(max_length=500)
    revision = models.PositiveIntegerField()
    line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    quote = models.TextField(blank=True)
    body = models.TextField()
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
    def lines(self) -> str:
        """`line 3` or `lines 3–5`."""
        if self.line == self.end_line:
            return f"line {self.line}"
        return f"lines {self.line}–{self.end_line}"


class Draft(models.Model):
    """What somebody has typed on a request and not sent yet, on whichever machine."""

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="drafts")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)  # of the form's fields, by name
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "author"], name="one_draft_per_person")
        ]

    def __str__(self) -> str:
        return f"draft of {self.author} on {self.request}"
