"""The calls about batches: start many, see how all stand, answer many."""

from typing import Annotated

from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import Field, model_validator

from feedback.batches import aggregate, group
from feedback.batches.answering import answer_listed, answer_text
from feedback.batches.comment import tell, tell_of
from feedback.batches.group import Group
from runs.accounts import permissions
from runs.api import idempotency, wishes
from runs.api.auth import ApiRequest
from runs.api.runs import IdempotencyHeader
from runs.api.schemas import Sent, StartRun, WorkId, answers
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.engine import batches, starting
from runs.engine.batches import BatchWish
from runs.models import Batch

Json = dict[str, object]

router = Router(tags=["batches"])


class StartBatch(StartRun):
    work_ids: list[WorkId] = Field(min_length=1, max_length=1000)
    concurrency: Annotated[int, Field(strict=True, ge=1, le=1000)] = batches.AT_ONCE
    issue: WorkId = Field("", description="Issue to report the whole batch on.")

    @model_validator(mode="after")
    def _many(self) -> "StartBatch":
        if self.work_id:
            raise ValueError("send work_ids, not work_id")
        return self


class OneAnswer(Sent):
    response: str
    comment: str = ""


class AnswerMany(Sent):
    text: str | None = Field(None, description="Lines such as `#124: approve`.")
    answers: dict[str, OneAnswer] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "AnswerMany":
        if (self.text is None) == (self.answers is None):
            raise ValueError("send either text or answers")
        return self


class AnswerSelected(AnswerMany):
    runs: list[str] = Field(description="Ids or uuids of the runs to answer together.")


RunsNamed = Annotated[
    str, Query("", description="Ids or uuids of runs, separated by commas.", max_length=60_000)
]


class Results(Sent):
    results: list[Json]


@router.post(
    "/batches",
    response=answers({201: Json}, 409),
    operation_id="startBatch",
    summary="Start a workflow for several work ids",
)
def start_batch(
    request: ApiRequest, body: StartBatch, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    def work() -> tuple[int, Json]:
        return 201, aggregate.aggregate(_started(request, body))

    return idempotency.once(request, work)


def _started(request: ApiRequest, body: StartBatch) -> Batch:
    actor = request.auth.actor
    wanted = BatchWish(
        wish=wishes.wish_of(body, actor),
        work_ids=[str(work_id) for work_id in body.work_ids],
        concurrency=body.concurrency,
        issue=str(body.issue),
    )
    try:
        batch = batches.start(wanted, actor)
    except starting.NoSuchProject:
        raise
    except NotFound as error:
        unknown = Invalid([Problem("workflow", str(error))])
        raise starting.all_that_is_wrong(unknown, wanted.wish) from error
    tell(batch.pk)
    return batch


# Runs that were not started together; these paths come before those with the id of a batch.


@router.get(
    "/batches",
    response=answers({200: Json}, 404, 409),
    operation_id="aggregateRuns",
    summary="Status of any runs, in the shape of a batch",
)
def aggregate_runs(request: ApiRequest, runs: RunsNamed) -> Json:
    """`batch_id` is null: nothing of it is kept."""
    return aggregate.aggregate(group.selected([runs], seen_by=request.auth.actor))


@router.get(
    "/batches/prompt",
    response=answers({200: str}, 404, 409),
    operation_id="promptRuns",
    summary="Requests of any runs, as Markdown",
    openapi_extra={
        "responses": {200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}}
    },
)
def prompt_runs(request: ApiRequest, runs: RunsNamed) -> HttpResponse:
    text = aggregate.prompt(group.selected([runs], seen_by=request.auth.actor))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@router.post(
    "/batches/answers",
    response=answers({200: Results}, 404, 409),
    operation_id="answerRuns",
    summary="Answer any runs at once",
)
def answer_runs(request: ApiRequest, body: AnswerSelected) -> Json:
    """As for a batch; each answer is checked by itself."""
    selection = group.selected(body.runs, seen_by=request.auth.actor)
    projects = {row.run.project for row in aggregate.read(selection).rows}
    permissions.check_may_answer_some(request.auth.actor, projects)
    return _answered(selection, body, request)


def _answered(selection: Group, body: AnswerMany, request: ApiRequest) -> Json:
    actor = request.auth.actor
    if body.answers is None:
        results = answer_text(selection, body.text or "", actor)
    else:
        named = {key: answer.model_dump() for key, answer in body.answers.items()}
        results = answer_listed(selection, named, actor)
    tell_of(selection)
    return {"results": [result.shape() for result in results]}


@router.get(
    "/batches/{batch_id}",
    response=answers({200: Json}, 404),
    operation_id="getBatch",
    summary="Status of all runs of a batch",
)
def get_batch(request: ApiRequest, batch_id: str) -> Json:
    return aggregate.aggregate(batches.find(batch_id, seen_by=request.auth.actor))


@router.get(
    "/batches/{batch_id}/prompt",
    response=answers({200: str}, 404),
    operation_id="getBatchPrompt",
    summary="Requests of all runs of a batch, as Markdown",
    openapi_extra={
        "responses": {200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}}
    },
)
def get_prompt(request: ApiRequest, batch_id: str) -> HttpResponse:
    text = aggregate.prompt(batches.find(batch_id, seen_by=request.auth.actor))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@router.post(
    "/batches/{batch_id}/answers",
    response=answers({200: Results}, 404, 409),
    operation_id="answerBatch",
    summary="Answer several runs at once",
)
def answer_batch(request: ApiRequest, batch_id: str, body: AnswerMany) -> Json:
    """Each line is its own answer with its own result; a bad one touches nothing else."""
    batch = batches.find(batch_id, seen_by=request.auth.actor)
    permissions.check_may_answer_some(request.auth.actor, [batch.project])
    return _answered(batch, body, request)
