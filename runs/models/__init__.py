"""The rows behind a run; what must always hold is a constraint here, what happens is `engine`'s."""

from runs.models.access import AccessToken, IdempotencyKey
from runs.models.naming import choices
from runs.models.packages import ContextPackage, ContextPart
from runs.models.projects import Batch, Project
from runs.models.record import Artifact, Event
from runs.models.run import Run
from runs.models.steps import StepAttempt, StepOutput, WorkerBeat

__all__ = [
    "AccessToken",
    "Artifact",
    "Batch",
    "ContextPackage",
    "ContextPart",
    "Event",
    "IdempotencyKey",
    "Project",
    "Run",
    "StepAttempt",
    "StepOutput",
    "WorkerBeat",
    "choices",
]
