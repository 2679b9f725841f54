"""Executions of steps: who has one, what came of it, what it printed."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.domain.responses.results import ResultStatus
from runs.domain.values.phases import Phase
from runs.models.naming import choices
from runs.models.run import Run


class StepAttempt(models.Model):
    """One execution of one step; the open one says what should be running, and who has it."""

    class Status(models.TextChoices):
        QUEUED = "queued"  # decided on, nobody has it yet
        RUNNING = "running"
        FINISHED = "finished"
        LOST = "lost"  # its worker stopped reporting
        CANCELLED = "cancelled"

    OPEN = (Status.QUEUED, Status.RUNNING)

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    phase = models.CharField(max_length=20, choices=choices(Phase))
    step = models.CharField(max_length=150)
    is_hook = models.BooleanField(default=False)
    is_remote = models.BooleanField(default=False)
    position = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    action = models.CharField(max_length=20)
    reason = models.CharField(max_length=500, blank=True)
    feedback = models.JSONField(null=True, blank=True)
    failure_context = models.JSONField(null=True, blank=True)

    status = models.CharField(max_length=20, choices=Status.choices, default=Status.QUEUED)
    worker = models.CharField(max_length=200, blank=True)
    host = models.CharField(max_length=200, blank=True, default="", db_default="")  # who has to
    lease_until = models.DateTimeField(null=True, blank=True)
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    result = models.CharField(max_length=20, blank=True, choices=choices(ResultStatus))
    response = models.JSONField(null=True, blank=True)
    late_response = models.JSONField(null=True, blank=True)  # came when the step was lost
    files = models.JSONField(default=list, blank=True)  # paths of the artifacts it named
    progress = models.TextField(blank=True)  # written by workers of the release before only
    session = models.CharField(max_length=200, blank=True)  # in which an agent can be asked on
    usage = models.JSONField(null=True, blank=True)  # what an agent says it cost
    handed_in = models.JSONField(null=True, blank=True)  # from outside, evidence not looked for
    baseline = models.JSONField(null=True, blank=True)  # what evidence is measured against
    evidence = models.JSONField(default=list, blank=True)  # what was looked for when it ended

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "phase", "step", "number"], name="attempt_numbered_once"
            ),
            models.UniqueConstraint(
                fields=["run"],
                condition=Q(status__in=["queued", "running"]),
                name="one_open_attempt",
            ),
            models.CheckConstraint(
                condition=~Q(status="running") | Q(lease_until__isnull=False),
                name="running_attempt_has_a_lease",
            ),
        ]
        # Not a partial one: SQLite would not use that for a status given as a parameter.
        indexes = [models.Index(fields=["status", "lease_until"], name="open_attempts")]

    def __str__(self) -> str:
        return f"{self.key} #{self.number}"

    @property
    def message(self) -> str:
        """What the step said of itself, once it is settled."""
        return str((self.response or {}).get("message", ""))

    @property
    def late_result(self) -> str:
        """What it handed back when the step was not its own any more; mostly nothing."""
        late = self.late_response or {}
        return ": ".join(str(late[name]) for name in ("status", "message") if late.get(name))

    @property
    def key(self) -> str:
        return f"{self.phase}:{self.step}"

    @property
    def duration_ms(self) -> int | None:
        if not (self.started_at and self.finished_at):
            return None
        return max(0, int((self.finished_at - self.started_at).total_seconds() * 1000))


class StepOutput(models.Model):
    """Everything one attempt printed, as far as it was kept."""

    attempt = models.OneToOneField(StepAttempt, on_delete=models.CASCADE, related_name="output")
    stdout = models.TextField(blank=True)
    stderr = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"output of {self.attempt}"


class OutputPart(models.Model):
    """Some lines that a step printed while it runs; see `live_output`."""

    attempt = models.ForeignKey(StepAttempt, on_delete=models.CASCADE, related_name="+")
    lines = models.BinaryField()

    def __str__(self) -> str:
        return f"lines of {self.attempt}"


class WorkerBeat(models.Model):
    """When workers on a host last took a job, by the lane they are of."""

    host = models.CharField(max_length=200, unique=True)
    beat_at = models.DateTimeField(null=True)
    short_beat_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.host
