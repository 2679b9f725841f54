"""Executions of steps: who has one, what came of it, what it printed."""

import lzma
import zlib
from typing import Self

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
    # The same for sums, of those who told it.
    cost_usd = models.FloatField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    handed_in = models.JSONField(null=True, blank=True)  # from outside, evidence not looked for
    left_at = models.JSONField(null=True, blank=True)  # the worktree's commit, what is not in it
    taken_over_from = models.CharField(
        max_length=250, blank=True, default="", db_default=""
    )  # the run it was executed in
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
        indexes = [
            models.Index(fields=["status", "lease_until"], name="open_attempts"),
            # All that costs are summed from, so that no outcome is read for them.
            models.Index(
                fields=["finished_at", "run", "cost_usd", "input_tokens", "output_tokens"],
                condition=Q(cost_usd__isnull=False) | Q(output_tokens__isnull=False),
                name="attempts_that_cost",
            ),
        ]

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
    """Everything one attempt printed, as far as it was kept; what is long is compressed."""

    SHORT = 500  # characters; compressed it would hardly be shorter
    LONG = 20_000  # from here on what comes again far behind is worth looking for

    attempt = models.OneToOneField(StepAttempt, on_delete=models.CASCADE, related_name="output")
    stdout = models.TextField(blank=True)
    stderr = models.TextField(blank=True)
    packed_stdout = models.BinaryField(null=True)
    packed_stderr = models.BinaryField(null=True)

    def __str__(self) -> str:
        return f"output of {self.attempt}"

    @classmethod
    def columns(cls, stdout: str, stderr: str) -> dict[str, str | bytes | None]:
        """What a row has to hold of both."""
        given = {"stdout": stdout, "stderr": stderr}
        is_short = {name: len(text) < cls.SHORT for name, text in given.items()}
        plain = {name: text if is_short[name] else "" for name, text in given.items()}
        packed = {
            f"packed_{name}": None if is_short[name] else cls._packed(text.encode())
            for name, text in given.items()
        }
        return {**plain, **packed}

    @classmethod
    def of(cls, attempt: StepAttempt) -> Self | None:
        return cls.objects.filter(attempt=attempt).first()

    def text(self, stream: str) -> str:
        """All of "stdout" or "stderr"."""
        packed = getattr(self, f"packed_{stream}")
        if packed is None:  # short, or from before outputs were compressed
            return str(getattr(self, stream))
        kept = bytes(packed)
        unpack = lzma.decompress if kept.startswith(_XZ) else zlib.decompress
        return unpack(kept).decode()

    @classmethod
    def _packed(cls, text: bytes) -> bytes:
        return zlib.compress(text) if len(text) < cls.LONG else lzma.compress(text, preset=1)


_XZ = b"\xfd7zXZ\x00"


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
