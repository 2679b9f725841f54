"""Answers that belong into the directory of a run made elsewhere."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from feedback.models.requests import FeedbackResponse


class WriteBack(models.Model):
    """An answer given here to a run that another FABER executes, and how far it got there."""

    response = models.OneToOneField(
        FeedbackResponse, on_delete=models.CASCADE, related_name="write_back"
    )
    is_due = models.BooleanField(default=True)  # the directory does not have it yet
    written_at = models.DateTimeField(null=True, blank=True)
    refused = models.TextField(blank=True)  # why it never will: the run went another way
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["created_at"], condition=Q(is_due=True), name="write_backs_due")
        ]

    def __str__(self) -> str:
        return f"{self.response} to be written back"
