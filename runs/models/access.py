"""What programs sign in with, and what they have asked already."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from runs.domain.values.actors import Scope
from runs.models.naming import choices


class AccessToken(models.Model):
    """A program's key; only its hash is kept."""

    name = models.CharField(max_length=100, unique=True)
    scope = models.CharField(max_length=20, choices=choices(Scope))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )  # whom a reviewer's token acts for
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """What a program was answered; the same key with the same body gets it again."""

    token = models.ForeignKey(AccessToken, on_delete=models.CASCADE, related_name="keys")
    key = models.CharField(max_length=200)
    asked = models.CharField(max_length=64)  # hash of method, address and body
    status = models.PositiveIntegerField(null=True, blank=True)  # None while it is being answered
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return self.key
