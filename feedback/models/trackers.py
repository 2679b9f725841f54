"""What was said on issues, by us and to us, whichever tracker they are in."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest
from runs.models import Run
from runs.trackers import Place, Tracker


class OfTracker(models.Model):
    """A row about one tracker; the version before knew GitHub alone, and writes none."""

    tracker = models.CharField(
        max_length=10, default=Tracker.GITHUB.value, db_default=Tracker.GITHUB.value
    )

    class Meta:
        abstract = True


class OnIssue(OfTracker):
    """A row about one issue or merge request."""

    repository = models.CharField(max_length=200)
    issue = models.PositiveIntegerField()
    is_merge_request = models.BooleanField(default=False, db_default=False)

    class Meta:
        abstract = True

    @property
    def place(self) -> Place:
        return Place(
            tracker=Tracker(self.tracker),
            repository=self.repository,
            issue=self.issue,
            is_merge_request=self.is_merge_request,
        )


class Webhook(OfTracker):
    """A delivery of a tracker's, kept as it came so that it can be read again.

    It only says which comment to ask the tracker for.
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
    GIVEN_UP = "given_up"  # the tracker does not show it any more, and nobody asks again


class InboundKind(models.TextChoices):
    COMMENT = "comment"
    LABEL = "label"
    ASSIGNMENT = "assignment"


class InboundComment(OnIssue):
    """A comment that speaks to us; each acts at most once, however often it is heard of.

    So does the label or the assignment that starts a run: an event of the issue, with its own id.
    """

    kind = models.CharField(
        max_length=10,
        choices=InboundKind.choices,
        default=InboundKind.COMMENT,
        db_default=InboundKind.COMMENT.value,
    )
    comment_id = models.BigIntegerField()  # or the event's
    author = models.CharField(max_length=100)
    author_number = models.BigIntegerField(null=True, blank=True)  # the person, to the tracker
    body = models.TextField()  # of a label its name
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
        constraints = [
            models.UniqueConstraint(
                fields=["comment_id", "tracker", "kind"], name="spoke_to_us_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.place} {self.author}"


class Delivery(Outgoing, OnIssue):
    """A comment of ours on an issue: what should be there, and what is."""

    class Kind(models.TextChoices):
        REQUEST = "request"
        REPLY = "reply"
        RUN = "run"  # how it stands, what it asks and what was decided
        CHECK = "check"  # of a pull request: a status of its commit instead of a comment

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
    body = models.TextField(blank=True)  # of a reply; the others are written from their rows
    shown = models.CharField(max_length=64, blank=True)  # hash of what the issue shows
    comment_id = models.BigIntegerField(null=True, blank=True)
    comment_url = models.CharField(max_length=500, blank=True)
    posted_at = models.DateTimeField(null=True, blank=True)
    # The commit of a pull request that a check was last set for.
    commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    version = models.PositiveIntegerField(default=1)  # counts what was to be said

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="deliveries_due"),
            # Those given up have been tried most.
            models.Index(
                fields=["attempts", "next_try_at"],
                condition=Q(is_due=False),
                name="deliveries_done",
            ),
        ]

    def __str__(self) -> str:
        return self.mark


class Listening(OfTracker):
    """How far the comments of a repository have been read, and the events of its issues."""

    repository = models.CharField(max_length=200)
    since = models.DateTimeField()
    etag = models.CharField(max_length=200, blank=True)
    events_since = models.DateTimeField(null=True, blank=True)  # none: as far as the comments
    events_etag = models.CharField(max_length=200, blank=True, default="", db_default="")
    polled_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["repository", "tracker"], name="listened_to_once")
        ]

    def __str__(self) -> str:
        return self.repository
