"""What each execution of a step was told, kept so that it can be shown and told again."""

from django.db import models
from django.utils import timezone

from runs.models.run import Run
from runs.models.steps import StepAttempt


class StoredPart(models.Model):
    """Something large that is stored once, however many rows refer to it."""

    digest = models.CharField(max_length=64, primary_key=True)
    content = models.BinaryField()  # compressed
    size = models.PositiveIntegerField()  # before it was compressed

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.digest[:12]


class ContextPart(StoredPart):
    """A part of packages."""


class CodePart(StoredPart):
    """What is kept of one changed file: its patch, and both sides of it."""


class ContextPackage(models.Model):
    """The context one attempt was given; its parts are found by their hash."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="packages")
    attempt = models.OneToOneField(StepAttempt, on_delete=models.CASCADE, related_name="package")
    digest = models.CharField(max_length=64)  # of everything but how long gathering took
    manifest = models.JSONField(default=dict)  # its large parts; all of it in earlier releases
    content = models.BinaryField(null=True, blank=True)  # see `runs.context.packing`
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.digest[:12]
