"""Questions that reviewers put to an agent before they decide, and what it said."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from feedback.models.requests import FeedbackRequest
from runs.domain.values.status import RequestStatus
from runs.models import StepAttempt


class Inquiry(models.Model):
    """One question on an open request and its reply; it decides nothing."""

    class Stage(models.TextChoices):
        WAITING = "waiting"  # for a worker, or for the program that is to reply
        ASKING = "asking"  # a worker has the agent answer
        ANSWERED = "answered"
        FAILED = "failed"
        DROPPED = "dropped"  # the request was closed first

    OPEN = (Stage.WAITING, Stage.ASKING)

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="inquiries")
    number = models.PositiveIntegerField()  # among those of the request, from 1
    question = models.TextField()
    asked_by = models.JSONField()
    asked_at = models.DateTimeField(default=timezone.now)

    # Who is asked: the agent that executed this step, or the program with this token.
    attempt = models.ForeignKey(
        StepAttempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    token = models.CharField(max_length=100, blank=True)
    agent = models.CharField(max_length=100, blank=True)

    state = models.CharField(max_length=10, choices=Stage.choices, default=Stage.WAITING)
    worker = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    queued_at = models.DateTimeField(default=timezone.now)
    tries = models.PositiveIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True, blank=True)  # to the program

    answer = models.TextField(blank=True)
    problem = models.TextField(blank=True)  # why there is no answer
    answered_at = models.DateTimeField(null=True, blank=True)
    session = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(null=True, blank=True)  # what the agent says it cost
    cost_usd = models.FloatField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "inquiries"
        ordering = ["request", "number"]
        constraints = [
            models.UniqueConstraint(fields=["request", "number"], name="inquiry_numbered_once"),
            # A session takes one question at a time.
            models.UniqueConstraint(
                fields=["request"], condition=Q(state="asking"), name="one_inquiry_at_a_time"
            ),
            models.CheckConstraint(
                condition=~Q(state="asking") | Q(lease_until__isnull=False),
                name="inquiry_under_way_has_a_lease",
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="inquiries_by_state")]

    def __str__(self) -> str:
        return f"{self.request_id} #{self.number}: {self.question[:40]}"

    @property
    def who(self) -> str:
        return str(self.asked_by.get("user", ""))

    @property
    def status(self) -> str:
        """How it stands for people: nobody waits any more once the request is closed."""
        if self.state not in self.OPEN:
            return "closed" if self.state == self.Stage.DROPPED else self.state
        return "pending" if self.request.status == RequestStatus.PENDING else "closed"

    @property
    def is_settled(self) -> bool:
        return self.state in (self.Stage.ANSWERED, self.Stage.FAILED)

    @property
    def is_pending(self) -> bool:
        return self.status == "pending"
