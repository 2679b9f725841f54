"""The rows behind a run; what must always hold is a constraint here."""

import uuid as uuids
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils import timezone

from runs.domain.phases import Phase
from runs.domain.plan import Plan, Unit
from runs.domain.results import ResultStatus
from runs.domain.status import RunStatus
from runs.domain.workflow import AutonomyLevel

KEPT_PLANS = 200
_PLANS: dict[str, Plan] = {}


def choices(values: object) -> list[tuple[str, str]]:
    return [(str(value), str(value)) for value in values]  # type: ignore[attr-defined]


class Project(models.Model):
    """A code base; its name is that of its repository."""

    name = models.CharField(max_length=200)
    workspace = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="project_named_once")]

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One execution of one workflow, on the plan frozen at its start."""

    uuid = models.UUIDField(default=uuids.uuid4, unique=True, editable=False)
    run_id = models.CharField(max_length=250, unique=True, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="runs")
    work_id = models.CharField(max_length=50, blank=True)
    target = models.CharField(max_length=500, blank=True)
    workflow_id = models.CharField(max_length=100)
    workflow_ref = models.CharField(max_length=1000, blank=True)  # where a rerun reads it again
    autonomy = models.CharField(max_length=20, choices=choices(AutonomyLevel))
    workspace = models.CharField(max_length=1000)
    prompt = models.TextField(blank=True)
    inputs = models.JSONField(default=dict, blank=True)
    phases = models.JSONField(default=list, blank=True)

    plan = models.JSONField()
    plan_hash = models.CharField(max_length=64)

    status = models.CharField(
        max_length=20, choices=choices(RunStatus), default=RunStatus.PENDING.value
    )
    position = models.PositiveIntegerField(default=0)
    entered_phase = models.CharField(max_length=20, blank=True, choices=choices(Phase))
    approvals = models.JSONField(default=dict, blank=True)  # gate → request that approved it
    retry_count = models.PositiveIntegerField(default=0)  # rounds of the evaluate loop
    warnings_total = models.PositiveIntegerField(default=0)
    artifacts = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)

    last_event_id = models.PositiveIntegerField(default=0)
    last_event_at = models.DateTimeField(null=True, blank=True)
    last_event_hash = models.CharField(max_length=64, blank=True)

    started_by = models.CharField(max_length=200)
    started_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    started_by_account = models.CharField(max_length=200, blank=True)
    environment = models.JSONField(default=dict, blank=True)
    rerun_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns"
    )
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    updated_at = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["status", "updated_at"], name="run_by_status"),
            models.Index(fields=["project", "work_id"], name="run_by_work_id"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[str(s) for s in RunStatus]), name="run_status_known"
            ),
            models.CheckConstraint(
                condition=Q(completed_at__isnull=False)
                | ~Q(status__in=[RunStatus.COMPLETED.value, RunStatus.CANCELLED.value]),
                name="run_final_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return self.run_id

    @property
    def frozen_plan(self) -> Plan:
        """The plan as a value; equal hashes are equal plans, so each is parsed once a process."""
        plan = _PLANS.get(self.plan_hash)
        if plan is None:
            if len(_PLANS) >= KEPT_PLANS:
                _PLANS.clear()
            plan = _PLANS[self.plan_hash] = Plan.read(self.plan)
        return plan

    @property
    def unit(self) -> Unit | None:
        """What the run stands at; None when nothing is left."""
        units = self.frozen_plan.units
        return units[self.position] if self.position < len(units) else None

    @property
    def state(self) -> RunStatus:
        return RunStatus(self.status)

    @property
    def short_id(self) -> str:
        return str(self.uuid)[:8]

    @property
    def duration_ms(self) -> int:
        end: datetime = self.completed_at or timezone.now()
        return max(0, int((end - self.created_at).total_seconds() * 1000))


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
    lease_until = models.DateTimeField(null=True, blank=True)
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    result = models.CharField(max_length=20, blank=True, choices=choices(ResultStatus))
    response = models.JSONField(null=True, blank=True)
    late_response = models.JSONField(null=True, blank=True)  # came when the step was lost
    files = models.JSONField(default=list, blank=True)  # paths of the artifacts it named
    progress = models.TextField(blank=True)  # the last lines printed while it runs

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


class Event(models.Model):
    """One line of a run's history: never changed, never left out, chained by hash."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    number = models.PositiveIntegerField()
    type = models.CharField(max_length=60)
    timestamp = models.DateTimeField()
    phase = models.CharField(max_length=20, blank=True)
    step = models.CharField(max_length=150, blank=True)
    document = models.JSONField()  # the whole event, as the run directory holds it
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="event_numbered_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="event_numbered_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.type}"


class Artifact(models.Model):
    """One revision of a file that a step named, kept as it was then."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="revisions")
    attempt = models.ForeignKey(
        StepAttempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="revisions"
    )
    path = models.CharField(max_length=500)
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["run", "path", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "path", "revision"], name="artifact_revision_numbered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} revision {self.revision}"

    @property
    def text(self) -> str:
        return bytes(self.content).decode("utf-8", errors="replace")


class WorkerBeat(models.Model):
    """When a worker on a host last took a job from the queue."""

    host = models.CharField(max_length=200, unique=True)
    beat_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.host


__all__ = [
    "Artifact",
    "Event",
    "Project",
    "Run",
    "StepAttempt",
    "StepOutput",
    "WorkerBeat",
]
