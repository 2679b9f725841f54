"""A run: one execution of one workflow."""

import uuid as uuids
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from runs.domain.planning import titles
from runs.domain.planning.budgets import WHOLE_RUN
from runs.domain.planning.planner import Facts
from runs.domain.values.errors import Pruned
from runs.domain.values.phases import Phase
from runs.domain.values.status import RunStatus
from runs.domain.values.text import one_line
from runs.domain.workflow.definition import AutonomyLevel, Budget
from runs.domain.workflow.plan import Plan, Progress, Unit, digest_of
from runs.models import places
from runs.models.naming import choices
from runs.models.projects import Batch, Project

KEPT_PLANS = 200
# What the title is made of, the best first; a list that shows titles fetches these.
TITLED_BY = ("own_title", "target", "workflow_id")


class _KnownPlan(NamedTuple):
    plan: Plan
    document: object  # as it is stored; its hash was taken


_PLANS: dict[str, _KnownPlan] = {}


class Run(models.Model):
    """One execution of one workflow, on the plan frozen at its start."""

    uuid = models.UUIDField(default=uuids.uuid4, unique=True, editable=False)
    run_id = models.CharField(max_length=250, unique=True, editable=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="runs", db_index=False
    )  # see `runs_by_project`
    batch = models.ForeignKey(
        Batch, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs"
    )
    work_id = models.CharField(max_length=50, blank=True)
    target = models.CharField(max_length=500, blank=True)
    # By its issue, else its target, else a document of its own; empty: by its workflow.
    own_title = models.CharField(max_length=titles.LONGEST, blank=True, default="", db_default="")
    workflow_id = models.CharField(max_length=100)
    workflow_ref = models.CharField(max_length=1000, blank=True)  # where a rerun reads it again
    autonomy = models.CharField(max_length=20, choices=choices(AutonomyLevel))
    workspace = models.CharField(max_length=1000)
    worktree_of = models.CharField(max_length=1000, blank=True)  # the repository it was made from
    worktree_kept = models.CharField(max_length=500, blank=True)  # why it outlives its run
    # Where its last step was executed, which folder that was, and the commit it was left at.
    host = models.CharField(max_length=200, blank=True, default="", db_default="")
    host_identity = models.CharField(max_length=64, blank=True, default="", db_default="")
    folder_mark = models.CharField(max_length=64, blank=True, default="", db_default="")
    left_commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    # The commit its worktree left the base branch at; else it began at its environment's.
    base_commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    mirrors = models.CharField(max_length=1000, blank=True)  # the directory of a run made elsewhere
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
    # What its agents say they cost, together, and the budgets that people raised, by their scope.
    cost_usd = models.FloatField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    budgets = models.JSONField(default=dict, blank=True, db_default={})
    artifacts = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)

    last_event_id = models.PositiveIntegerField(default=0)
    last_event_at = models.DateTimeField(null=True, blank=True)
    last_event_hash = models.CharField(max_length=64, blank=True)
    head_code = models.CharField(max_length=64, blank=True, default="", db_default="")
    told_elsewhere = models.PositiveIntegerField(default=0)  # events that came with an import
    imported_at = models.DateTimeField(null=True, blank=True)  # what it says of itself is a claim
    on_hold = models.BooleanField(default=False, db_default=False)  # until an operator resumes it

    started_by = models.CharField(max_length=200)
    started_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    started_by_account = models.CharField(max_length=200, blank=True)
    started_by_token = models.CharField(max_length=100, blank=True, default="", db_default="")
    environment = models.JSONField(default=dict, blank=True)
    carried = models.JSONField(default=dict, blank=True)  # what only its directory knows to say
    rerun_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns"
    )
    # The step it begins at, all before that taken over, and the commit its worktree begins with.
    forked_at = models.CharField(max_length=200, blank=True, default="", db_default="")
    fork_commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    updated_at = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)
    pruned_at = models.DateTimeField(null=True, blank=True)  # what its steps printed and were told

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            # What the list of runs is narrowed by, each in the order of the list and with what is
            # counted; texts are found by `runs.search`.
            models.Index(fields=["status", "created_at", "project"], name="runs_by_status"),
            models.Index(fields=["project", "created_at", "status"], name="runs_by_project"),
            models.Index(fields=["workflow_id", "created_at", "status"], name="runs_by_workflow"),
            models.Index(fields=["started_by", "created_at", "status"], name="runs_by_starter"),
            models.Index(fields=["entered_phase", "created_at", "status"], name="runs_by_phase"),
            models.Index(fields=["work_id", "project"], name="run_by_work_id"),
            models.Index(
                F("cost_usd").desc(),
                F("id").desc(),
                condition=Q(cost_usd__isnull=False),
                name="runs_by_cost",
            ),
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
    def title(self) -> str:
        """What it is called, on every list and page."""
        # A run of an earlier release has none of its own, but may have a target.
        return self.own_title or one_line(self.target, titles.LONGEST) or self.workflow_id

    @property
    def is_foreign(self) -> bool:
        """Whether another FABER executes it, in a directory that `faber sync` reads."""
        return bool(self.mirrors)

    @property
    def rests(self) -> bool:
        """Whether it moves only when somebody here does something; elsewhere others do."""
        return self.state.is_final if self.is_foreign else self.state.is_stopped

    @property
    def progress(self) -> Progress:
        return self.frozen_plan.progress(self.position)

    @property
    def frozen_plan(self) -> Plan:
        """The plan as a value; equal hashes are equal plans, so each is parsed once a process."""
        known = _PLANS.get(self.plan_hash)
        if known:
            return known.plan
        plan = Plan.read(self.plan)
        if self.has_its_plan:  # another would pass for the plan of every run with this hash
            if len(_PLANS) >= KEPT_PLANS:
                _PLANS.clear()
            _PLANS[self.plan_hash] = _KnownPlan(plan, self.plan)
        return plan

    @property
    def has_its_plan(self) -> bool:
        """Whether the stored plan is still the one that was frozen at the start."""
        known = _PLANS.get(self.plan_hash)
        # Asked at every claim: comparing with what was hashed once takes a tenth of hashing.
        return self.plan == known.document if known else digest_of(self.plan) == self.plan_hash

    @property
    def unit(self) -> Unit | None:
        """What the run stands at; None when nothing is left."""
        plan = self.frozen_plan
        if self.position >= len(plan.units):
            return None
        return plan.unit_at(self.position, entered=self.entered_phase)

    @property
    def facts(self) -> Facts:
        """What the planner must know besides the plan."""
        return Facts(
            entered=Phase(self.entered_phase) if self.entered_phase else None,
            approved=frozenset(self.approvals),
            retry_count=self.retry_count,
            warnings_total=self.warnings_total,
        )

    @property
    def budget(self) -> Budget | None:
        """What its agents may cost before it asks, as its workflow or people allow it."""
        raised = self.budgets.get(WHOLE_RUN)
        return Budget.model_validate(raised) if raised else self.frozen_plan.budget

    def check_kept(self) -> None:
        """Refuse what was there and was pruned."""
        if self.pruned_at:
            raise Pruned(
                f"What the steps of this run printed and were told was pruned on "
                f"{self.pruned_at:%Y-%m-%d}. Its decisions, events and artifacts are kept."
            )

    @property
    def state(self) -> RunStatus:
        return RunStatus(self.status)

    @property
    def short_id(self) -> str:
        return str(self.uuid)[:8]

    @property
    def folder(self) -> Path:
        """Where its steps are executed."""
        # A run that came from elsewhere may name none; it must not get the data directory itself.
        return places.found(self.workspace or "workspaces")

    @property
    def home(self) -> Path:
        """The code base it was started in: not its own worktree, which comes and goes."""
        return places.found(self.worktree_of) if self.worktree_of else self.folder

    @property
    def duration_ms(self) -> int:
        end: datetime = self.completed_at or timezone.now()
        return max(0, int((end - self.created_at).total_seconds() * 1000))
