"""The rows behind a run; what must always hold is a constraint here, what happens is `engine`'s."""

from runs.models.access import (
    AccessToken,
    BrowserSession,
    Dismissal,
    GitHubLink,
    GivenRole,
    IdempotencyKey,
    StandIn,
)
from runs.models.audit import AuditEntry, AuditKind
from runs.models.hosts import SiteHost, Upkeep
from runs.models.naming import choices
from runs.models.packages import CodePart, ContextPackage, ContextPart
from runs.models.projects import DEMO, ROUND_ROBIN, Batch, Project, owners_of, tracked_at
from runs.models.record import Artifact, CodeSnapshot, Event
from runs.models.run import Run
from runs.models.steps import OutputPart, StepAttempt, StepOutput, WorkerBeat

__all__ = [
    "DEMO",
    "ROUND_ROBIN",
    "AccessToken",
    "Artifact",
    "AuditEntry",
    "AuditKind",
    "Batch",
    "BrowserSession",
    "CodePart",
    "CodeSnapshot",
    "ContextPackage",
    "ContextPart",
    "Dismissal",
    "Event",
    "GitHubLink",
    "GivenRole",
    "IdempotencyKey",
    "OutputPart",
    "Project",
    "Run",
    "SiteHost",
    "StandIn",
    "StepAttempt",
    "StepOutput",
    "Upkeep",
    "WorkerBeat",
    "choices",
    "owners_of",
    "tracked_at",
]
