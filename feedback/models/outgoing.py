"""What must leave the site, whatever dies meanwhile."""

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class Outgoing(models.Model):
    """A row that stays due until it was sent; `requests.outbox` has the rules for it."""

    is_due = models.BooleanField(default=True)
    attempts = models.PositiveIntegerField(default=0)  # in a row, without success
    next_try_at = models.DateTimeField(db_default=Now())  # by the clock that all hosts share
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True
