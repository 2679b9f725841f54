"""The calls about requests: ask, look, wait, answer."""

from typing import Annotated, Literal

from django.db import transaction
from django.http import HttpResponse
from ninja import Query, Router, Status

from feedback.api import long_poll, questions
from feedback.api.schemas import GiveAnswer, RequestJson, Requests
from feedback.api.schemas import Status as StatusName
from feedback.channels.callbacks import channel as callbacks
from feedback.models import FeedbackRequest
from feedback.requests.answers import Words, respond, standing
from feedback.requests.find import find_request
from feedback.requests.request_json import request_shape, request_shapes
from runs.accounts import permissions, tokens
from runs.api import idempotency, paging
from runs.api.auth import ApiRequest
from runs.api.runs import Cursor, IdempotencyHeader, Limit
from runs.api.schemas import AskAlone, AskInRun, AskPeople, answers
from runs.domain.values.actors import Actor
from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus
from runs.engine.find import find_run
from runs.models import Run
from runs.worker import remote

Json = dict[str, object]

router = Router(tags=["requests"])


@router.get(
    "/requests",
    response=answers({200: Requests}),
    operation_id="listRequests",
    summary="List requests, the oldest first",
)
def list_requests(
    request: ApiRequest,
    *,
    limit: Limit,
    cursor: Cursor,
    status: StatusName | None = None,
    project: str = "",
    type: FeedbackType | None = None,  # noqa: A002 (the contract's name)
    assigned: Literal["me"] | None = None,
) -> Json:
    """`assigned=me` gives those that you may answer and have not."""
    exact = {
        "status": status,
        "run__project__name__iexact": project,
        "type": type.value if type else None,
    }
    asked = FeedbackRequest.objects.filter(**{key: value for key, value in exact.items() if value})
    actor = request.auth.actor
    page = paging.paged(
        asked.select_related("run__project", "delivery").prefetch_related("responses"),
        by="requested_at",
        newest_first=False,
        limit=limit,
        cursor=cursor,
        fits=lambda one: assigned is None or _is_for(actor, one),
    )
    return {"items": request_shapes(page.items), "next_cursor": page.next_cursor}


def _is_for(actor: Actor, asked: FeedbackRequest) -> bool:
    return not permissions.refusal_to_answer(actor, asked.run, asked.reviewers) and not any(
        given.identity == actor.identity for given in standing(asked)
    )


@router.post(
    "/requests",
    response=answers({201: RequestJson}, 409),
    operation_id="ask",
    summary="Ask people, without a run",
)
def ask(request: ApiRequest, body: AskAlone, idempotency_key: IdempotencyHeader) -> Status[Json]:
    """Makes a run of one step that asks; answered, it is complete."""

    _check(request, body)

    def work() -> tuple[int, Json]:
        with transaction.atomic():
            actor = request.auth.actor
            run = remote.start_asking(actor, project=body.project, work_id=str(body.work_id))
            return 201, _asked(request, run, body)

    return idempotency.once_in_transaction(request, work)


@router.post(
    "/runs/{path:run_id}/requests",
    response=answers({201: RequestJson}, 404, 409),
    operation_id="askInRun",
    summary="Ask people about a run",
)
def ask_in_run(
    request: ApiRequest, run_id: str, body: AskInRun, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """Parks the run at its remote step, whose lease ends; once answered, `next` hands the step
    out again with the answer in its briefing."""

    _check(request, body)

    def work() -> tuple[int, Json]:
        with transaction.atomic():
            return 201, _asked(request, find_run(run_id), body, lease=body.lease)

    return idempotency.once_in_transaction(request, work)


def _check(request: ApiRequest, body: AskPeople) -> None:
    """Before the transaction: an address is looked up in the network."""
    tokens.check_may_act(request.auth.actor)
    if body.callback_url:
        callbacks.check(body.callback_url)


def _asked(request: ApiRequest, run: Run, body: AskPeople, *, lease: str = "") -> Json:
    sent = [(body.artifact.path, body.artifact.content)] if body.artifact else []
    remote.ask(
        run,
        questions.question_of(body, remote.gate_of(run)),
        executor=request.auth.token.name,
        lease=lease,
        files=remote.sent_files(sent),
    )
    asked = FeedbackRequest.objects.get(run=run, status=RequestStatus.PENDING)
    if body.callback_url:
        callbacks.promise(asked, body.callback_url, request.auth.token)
    return request_shape(asked)


@router.post(
    "/requests/{request_id}/answer",
    response=answers({200: RequestJson}, 404, 409),
    operation_id="answerRequest",
    summary="Answer a request",
)
def answer(
    request: ApiRequest, request_id: str, body: GiveAnswer, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """For reviewers and operators, never for an agent; the first answer counts."""

    def work() -> tuple[int, Json]:
        response = respond(
            request_id,
            body.response,
            actor=request.auth.actor,
            words=Words(
                comment=body.comment,
                items=[item.model_dump(exclude_none=True) for item in body.items],
            ),
            seal=body.seal,
        )
        return 200, request_shape(response.request)

    try:
        return idempotency.once_in_transaction(request, work)
    except InvalidAnswer as error:
        options = [option.value for option in find_request(request_id).choices]
        error.details.setdefault("options", options)
        raise


@router.get(
    "/requests/{request_id}/wait",
    response=answers({200: RequestJson, 202: RequestJson}, 404),
    operation_id="waitForAnswer",
    summary="Wait for an answer",
)
def wait(
    request: ApiRequest,
    response: HttpResponse,
    request_id: str,
    timeout: Annotated[
        float, Query(55, ge=0, allow_inf_nan=False, description="Seconds; more than 60 are 60.")
    ],
) -> Status[Json]:
    """200 once it is answered or withdrawn and nobody can take that back any more, 202 while it
    is not: then ask again, after Retry-After seconds if that is given."""
    asked = find_request(request_id)
    is_settled, had_seat = long_poll.wait(asked.request_id, timeout)
    if not had_seat:
        response["Retry-After"] = str(long_poll.RETRY_AFTER)
    return Status(200 if is_settled else 202, request_shape(find_request(request_id)))


@router.get(
    "/requests/{request_id}",
    response=answers({200: RequestJson}, 404),
    operation_id="getRequest",
    summary="One request",
)
def get_request(request: ApiRequest, request_id: str) -> Json:
    return request_shape(find_request(request_id))
