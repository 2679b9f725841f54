"""Reads a group of runs in few queries: what each asks, and what was decided last."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from feedback.batches.group import Group, runs_of, within
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.planning import batch as rules
from runs.domain.planning import batch_prompt
from runs.domain.planning.batch import Asked, Member
from runs.domain.values.background import Background
from runs.domain.values.status import RequestStatus
from runs.models import Batch, Project, Run

# What tells of a run without its plan, which runs of a batch mostly share.
_RUN = (
    *("run_id", "uuid", "batch_id", "work_id", "target", "status", "position", "entered_phase"),
    *("project", "artifacts", "error", "updated_at", "started_by", "plan_hash"),
    *("started_by_user_id", "started_by_account", "imported_at", "on_hold"),
    *("own_title", "workflow_id"),
)
_REQUEST = (
    *("request_id", "run_id", "type", "prompt", "options", "context", "phase", "step"),
    *("reviewers", "delegated", "assignee", "quorum", "seal", "requested_at", "own_title"),
    *("round", "max_rounds"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """One run of a batch with what it asks now."""

    run: Run
    member: Member
    asked: FeedbackRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRead:
    batch: Group
    rows: Sequence[BatchRun]

    @property
    def members(self) -> list[Member]:
        return [row.member for row in self.rows]

    @property
    def counts(self) -> rules.Counts:
        return rules.count(self.members)


def read(batch: Group) -> BatchRead:
    """The whole group, in the order in which its runs were started."""
    found = list(runs_of(batch).only(*_RUN).order_by("pk"))
    pending = FeedbackRequest.objects.filter(
        within(batch, "run"), status=RequestStatus.PENDING
    ).only(*_REQUEST)
    asked = {request.run_id: request for request in pending}
    projects = _projects(batch, found)
    for run in found:
        run.project = projects[run.project_id]  # what a person may do here depends on it
        if run.pk in asked:
            asked[run.pk].run = run
    return BatchRead(batch=batch, rows=[_row(run, asked.get(run.pk)) for run in found])


def _projects(batch: Group, runs: Sequence[Run]) -> dict[int, Project]:
    if isinstance(batch, Batch):
        return {batch.project_id: batch.project}
    return Project.objects.in_bulk({run.project_id for run in runs})


def aggregate(batch: Group) -> dict[str, object]:
    """The specification's report, with what a program wants to know of a batch besides."""
    report = rules.aggregate(batch.batch_id, read(batch).members, at=timezone.now())
    if not isinstance(batch, Batch):
        return {**report, "batch_id": None}
    return {
        **report,
        "workflow_id": batch.workflow_id,
        "project": batch.project.name,
        "concurrency": batch.concurrency,
    }


def prompt(batch: Group) -> str:
    """The aggregated prompt in the layout of the seeds: markdown, and readable as it is."""
    return batch_prompt.prompt(read(batch).members)


def last_decisions(batch: Group) -> dict[int, FeedbackResponse]:
    """Run → the decision that counted last."""
    decided = FeedbackResponse.objects.filter(within(batch, "request__run"), decides=True).exclude(
        state=FeedbackResponse.State.RETRACTED
    )
    rows = decided.select_related("request").only(
        "response",
        "action",
        "comment",
        "skipped",
        "provided_by",
        "received_at",
        "state",
        "request__request_id",
        "request__run_id",
        "request__type",
    )
    return {row.request.run_id: row for row in rows.order_by("received_at", "pk")}


def _row(run: Run, asked: FeedbackRequest | None) -> BatchRun:
    return BatchRun(run=run, member=_member(run, asked), asked=asked)


def _member(run: Run, asked: FeedbackRequest | None) -> Member:
    unit = None if run.state.is_final else run.unit
    return Member(
        run_id=run.run_id,
        status=run.state,
        work_id=run.work_id,
        target=run.target,
        phase=unit.phase.value if unit else "",
        step=unit.step.id if unit else "",
        error=run.error,
        artifacts=run.artifacts,
        asks=_asks(asked) if asked else None,
    )


def _asks(asked: FeedbackRequest) -> Asked:
    told = Background.read(asked.context)
    return Asked(
        request_id=asked.request_id,
        type=asked.feedback_type,
        prompt=asked.prompt,
        options=asked.choices,
        phase=asked.phase,
        step=asked.step,
        questions=tuple(question.text for question in told.questions),
        error=told.summary,
        told=told.sections,
        context=asked.context,
    )
