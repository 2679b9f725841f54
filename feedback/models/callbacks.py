"""Programs that are called when their question is answered."""

from django.db import models
from django.db.models import Q

from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest
from runs.models import AccessToken


class Callback(Outgoing):
    """An address that is told the answer of a request, and how far that got."""

    request = models.OneToOneField(
        FeedbackRequest, on_delete=models.CASCADE, related_name="callback"
    )
    token = models.ForeignKey(
        AccessToken, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )  # whose hash signs the call
    url = models.CharField(max_length=2000)
    is_due = models.BooleanField(default=False)  # the answer is there and was not delivered yet
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="callbacks_due"),
            # What is counted one by one; the others are most.
            models.Index(
                fields=["is_due"], condition=Q(delivered_at=None), name="callbacks_undone"
            ),
        ]

    def __str__(self) -> str:
        return self.url
