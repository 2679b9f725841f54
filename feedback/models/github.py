"""What was said on GitHub issues, by us and to us."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest
from runs.models import Run


class Webhook(models.Model):
    """A delivery of GitHub's, kept as it came so that it can be read again.

    It only says which comment to ask GitHub for.
    """

    delivery_id = models.CharField(max_length=100, unique=True)
    event = models.CharField(max_length=60)
    body = models.BinaryField()
    received_at = models.DateTimeField(default=timezone.now, db_index=True)
    read_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveIntegerField(default=0, db_default=0)
    try_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["id"], condition=Q(read_at=None), name="unread_webhooks")]

    def __str__(self) -> str:
        return self.delivery_id


class CommentState(models.TextChoices):
    HEARD = "heard"  # not acted on yet
    DONE = "done"
    REFUSED = "refused"  # understood or not, nothing was done; the reply says why
    GIVEN_UP = "given_up"  # GitHub does not show it any more, and nobody asks again


class InboundComment(models.Model):
    """A comment that speaks to us; each acts at most once, however often it is heard of."""

    repository = models.CharField(max_length=200)
    issue = models.PositiveIntegerField()
    comment_id = models.BigIntegerField(unique=True)
    author = models.CharField(max_length=100)
    author_number = models.BigIntegerField(null=True, blank=True)  # GitHub's own for the person
    body = models.TextField()
    is_edited = models.BooleanField(default=False, db_default=False)  # before it was read here
    commented_at = models.DateTimeField()
    heard_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(
        max_length=10, choices=CommentState.choices, default=CommentState.HEARD
    )
    result = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0, db_default=0)  # to act on it, without success
    try_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["state", "try_at"], name="comments_to_act_on")]

    def __str__(self) -> str:
        return f"{self.repository}#{self.issue} {self.author}"


class Delivery(Outgoing):
    """A comment of ours on an issue: what should be there, and what is."""

    class Kind(models.TextChoices):
        REQUEST = "request"
        REPLY = "reply"
        RUN = "run"  # that it started, and how it ended

    kind = models.CharField(max_length=10, choices=Kind.choices)
    mark = models.CharField(max_length=100, unique=True)  # by which the comment is found again
    request = models.OneToOneField(
        FeedbackRequest, null=True, blank=True, on_delete=models.CASCADE, related_name="delivery"
    )
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    reply_to = models.OneToOneField(
        InboundComment, null=True, blank=True, on_delete=models.CASCADE, related_name="reply"
    )
    repository = models.CharField(max_length=200)
    issue = models.PositiveIntegerField()
    body = models.TextField(blank=True)  # of a reply; the others are written from their rows
    shown = models.CharField(max_length=64, blank=True)  # hash of what the issue shows
    comment_id = models.BigIntegerField(null=True, blank=True)
    comment_url = models.CharField(max_length=500, blank=True)
    posted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)  # counts what was to be said

    class Meta:
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="deliveries_due")
        ]

    def __str__(self) -> str:
        return self.mark


class Listening(models.Model):
    """How far the comments of a repository have been read."""

    repository = models.CharField(max_length=200, unique=True)
    since = models.DateTimeField()
    etag = models.CharField(max_length=200, blank=True)
    polled_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.repository
