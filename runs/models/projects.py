"""Code bases, and groups of runs that were started together."""

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils.timezone import now

from runs.domain.values.members import EVERYONE, MEMBERS
from runs.domain.values.moments.business_hours import BusinessHours, read_hours
from runs.models import places
from runs.trackers import Tracker, names_of

ROUND_ROBIN = "round-robin"
DEMO = "faber/demo"  # the project that demos count for


class Project(models.Model):
    """A code base; its name is that of its repository."""

    name = models.CharField(max_length=200)
    workspace = models.CharField(max_length=1000, blank=True)
    reviewers = models.JSONField(
        "reviewers", default=list, blank=True, help_text="for steps that name none themselves"
    )
    # For whom the project exists, and what its members may do in it.
    visibility = models.CharField(
        max_length=10,
        choices=[(EVERYONE, "Everyone"), (MEMBERS, "Members")],
        default=EVERYONE,
        db_default=EVERYONE,
    )
    members = models.JSONField(default=list, db_default=[], blank=True)  # as NAME:ROLE
    # Where its issues are: on the only tracker that is set up, and under the project's own name.
    tracker = models.CharField(
        max_length=10,
        choices=[("", "The one that is set up"), *((each.value, each.label) for each in Tracker)],
        blank=True,
        default="",
        db_default="",
    )
    repository = models.CharField(max_length=200, blank=True, default="", db_default="")
    # What is told on the project's issues besides the requests, and who may command there.
    tells_runs = models.BooleanField("comment when a run starts and ends", default=False)
    labels_issues = models.BooleanField("label issues that wait for a decision", default=False)
    github_allow = models.JSONField("logins that may command", default=list, blank=True)
    # What an issue starts: by a comment or an assignment, and by this label.
    start_workflow = models.CharField(max_length=120, blank=True, default="", db_default="")
    start_label = models.CharField(max_length=100, blank=True, default="", db_default="")
    # Where people are told of its requests, besides the site's; sealed, as each is a secret.
    notify = models.JSONField(default=list, db_default=[], blank=True, editable=False)
    # Counts the secrets made for forwarding comments; 0: there is none.
    webhook_number = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # How steps are executed here; a workflow that says otherwise goes first.
    agent = models.CharField(
        max_length=500, blank=True, help_text="claude, codex, or a command that reads a prompt"
    )
    context_bytes = models.PositiveIntegerField(
        "most bytes of context", null=True, blank=True, help_text="a step is told at most so much"
    )
    context_tokens = models.PositiveIntegerField(
        "most tokens of context", null=True, blank=True, help_text="counted as four bytes each"
    )
    base_branch = models.CharField(
        max_length=200, blank=True, help_text="what branches are compared with"
    )
    # How long people may take, for steps and workflows that do not say so themselves.
    due = models.CharField(max_length=10, blank=True, default="", db_default="")
    remind = models.CharField(max_length=10, blank=True, default="", db_default="")
    escalate_after = models.CharField(max_length=10, blank=True, default="", db_default="")
    escalate_to = models.JSONField(default=list, db_default=[], blank=True)
    on_timeout = models.JSONField(default=list, db_default=[], blank=True)  # options that end runs
    business_hours = models.CharField(max_length=300, blank=True, default="", db_default="")
    timezone = models.CharField(max_length=60, blank=True, default="", db_default="")
    assign = models.CharField(
        max_length=20,
        choices=[("", "Nobody"), (ROUND_ROBIN, "Round-robin within a group")],
        blank=True,
        default="",
        db_default="",
    )  # to whom a new request is given first
    needs = models.JSONField(default=list, db_default=[], blank=True)  # labels of its machines
    worktree = models.BooleanField("each run in a git worktree of its own", default=False)
    exclusive = models.BooleanField("one run at a time", default=False)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="project_named_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def hours(self) -> BusinessHours | None:
        """When people are there to decide; None: always."""
        return read_hours(self.business_hours, self.timezone)

    @property
    def tracked_as(self) -> str:
        """What the tracker calls its repository."""
        return self.repository or self.name

    @property
    def folder(self) -> Path | None:
        """Where its code lies on this machine, if it does."""
        return places.found(self.workspace) if self.workspace else None

    def is_at(self, folder: Path) -> bool:
        return self.folder is not None and self.folder.resolve() == folder.resolve()


def tracked_at(tracker: Tracker, repository: str) -> QuerySet[Project]:
    """The projects whose issues are there."""
    here = Q(repository="", name__iexact=repository) | Q(repository__iexact=repository)
    return Project.objects.filter(here, tracker__in=names_of(tracker)).order_by("pk")


def owners_of(folder: Path) -> list[Project]:
    """The projects whose folder this is, the oldest first."""
    registered = Project.objects.exclude(workspace="").order_by("pk")
    return [project for project in registered if project.is_at(folder)]


class Batch(models.Model):
    """Runs that were started together; each goes its own way."""

    batch_id = models.CharField(max_length=40, unique=True)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="batches")
    workflow_id = models.CharField(max_length=100)
    concurrency = models.PositiveIntegerField(default=10)
    issue = models.CharField(max_length=50, blank=True)  # where the whole group is told about
    started_by = models.CharField(max_length=200)
    started_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.batch_id
