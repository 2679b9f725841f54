"""Addresses that hear of requests and runs, and what was sent to them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from feedback.models.outgoing import Outgoing
from runs.models import Project


class WebhookEndpoint(models.Model):
    """An address that hears of what it chose; its secret is derived, never stored."""

    endpoint_id = models.CharField(max_length=40, unique=True)
    url = models.CharField(max_length=2000)
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="webhooks"
    )  # none: the whole site
    events = models.JSONField(default=list)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    secret_number = models.PositiveIntegerField(default=1)  # each rotation makes the next one
    rotated_at = models.DateTimeField(null=True, blank=True)
    # A receiver that is down is left alone for a while, whatever else there is to tell it.
    failures = models.PositiveIntegerField(default=0)  # in a row
    retry_at = models.DateTimeField(db_default=Now())
    disabled_at = models.DateTimeField(null=True, blank=True)  # it answered 410

    def __str__(self) -> str:
        return self.endpoint_id


class WebhookDelivery(Outgoing):
    """One event for one address: the same id and the same body, however often it is sent."""

    delivery_id = models.CharField(max_length=40, unique=True)
    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries"
    )
    event = models.CharField(max_length=40)
    event_key = models.CharField(max_length=300)  # which of the events of this type
    subject = models.CharField(max_length=250)  # the request or run it is about
    body = models.TextField()
    delivered_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    response_code = models.PositiveIntegerField(null=True, blank=True)
    took_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "event_key"], name="one_delivery_an_event")
        ]
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(is_due=True), name="webhooks_due"),
            # What is counted one by one; the others are most.
            models.Index(fields=["is_due"], condition=Q(delivered_at=None), name="webhooks_undone"),
            # What was tried in vain, by whom it did not reach.
            models.Index(
                fields=["endpoint", "tried_at"],
                condition=Q(delivered_at=None) & ~Q(last_error=""),
                name="webhooks_failing",
            ),
            models.Index(fields=["created_at"], condition=Q(is_due=False), name="webhooks_done"),
        ]

    def __str__(self) -> str:
        return self.delivery_id
