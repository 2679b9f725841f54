"""The calls about requests: ask, look, wait, answer."""

from typing import Annotated, Literal

from django.db import transaction
from django.http import HttpResponse
from ninja import Query, Router, Status

from feedback.api import long_poll, questions
from feedback.api.schemas import (
    AskedJson,
    ChangesJson,
    DelegateRequest,
    GiveAnswer,
    OverrideRequest,
    RequestJson,
    Requests,
    WithdrawRequest,
)
from feedback.api.schemas import Status as StatusName
from feedback.channels.callbacks import channel as callbacks
from feedback.channels.callbacks import signing
from feedback.models import FeedbackRequest
from feedback.requests import code_changes, shown, withdrawal
from feedback.requests.answers import Words, counted, respond
from feedback.requests.edits import Edit
from feedback.requests.find import find_request
from feedback.requests.handover import delegation
from feedback.requests.inquiries import replying
from feedback.requests.request_json import request_shape, request_shapes
from runs.accounts import membership, permissions
from runs.api import idempotency, paging
from runs.api.auth import ApiRequest
from runs.api.runs import Cursor, IdempotencyHeader, Limit
from runs.api.schemas import AskAlone, AskInRun, AskPeople, answers
from runs.changes.values import Since
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, InvalidAnswer, Problem
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus
from runs.engine import starting
from runs.engine.find import find_run
from runs.models import Project, Run
from runs.worker import remote

Json = dict[str, object]

router = Router(tags=["requests"])


@router.get(
    "/requests",
    response=answers({200: Requests}),
    operation_id="listRequests",
    summary="List requests, oldest first",
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
    asked = membership.sight_of(actor).of(asked, "run__project")
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
    """Whether they may answer it and have not; what is assigned to somebody else is theirs."""
    is_theirs = asked.assignee and not permissions.is_called(actor, asked.assignee)
    refusal = permissions.refusal_to_answer(actor, asked.run, asked.deciders)
    return not (is_theirs or refusal) and not any(
        given.identity == actor.identity for given in counted(asked)
    )


@router.post(
    "/requests",
    response=answers({201: AskedJson}, 409),
    exclude_unset=True,
    operation_id="ask",
    summary="Ask a person without a run",
)
def ask(request: ApiRequest, body: AskAlone, idempotency_key: IdempotencyHeader) -> Status[Json]:
    """Makes a run of one step that asks; answered, it is complete."""

    actor = request.auth.actor
    _check(
        body, actor, starting.project_seen(body.project or remote.asked_by_default(actor), actor)
    )

    def work() -> tuple[int, Json]:
        with transaction.atomic():
            run = remote.start_asking(actor, project=body.project, work_id=str(body.work_id))
            return 201, _asked(request, run, body)

    return _with_secret(idempotency.once_in_transaction(request, work), request, body)


@router.post(
    "/runs/{path:run_id}/requests",
    response=answers({201: AskedJson}, 404, 409),
    exclude_unset=True,
    operation_id="askInRun",
    summary="Ask a person about a run",
)
def ask_in_run(
    request: ApiRequest, run_id: str, body: AskInRun, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """Parks the run at its remote step, whose lease ends; once answered, `next` hands the step
    out again with the answer in its briefing."""

    actor = request.auth.actor
    run = find_run(run_id, seen_by=actor)
    _check(body, actor, run.project)

    def work() -> tuple[int, Json]:
        with transaction.atomic():
            return 201, _asked(request, run, body, lease=body.lease)

    return _with_secret(idempotency.once_in_transaction(request, work), request, body)


@router.get(
    "/runs/{path:run_id}/changes",
    response=answers({200: ChangesJson}, 404, 409),
    operation_id="getRunChanges",
    summary="What a run changed in its repository",
)
def run_changes(
    request: ApiRequest,
    run_id: str,
    asked: Annotated[
        str, Query("", alias="request", description="A request of the run; default: the newest.")
    ],
    since: Since = Since.BASE,
) -> Json:
    """As it was when the request was opened, with a patch for each file: since the run began, or
    since the round before."""
    shown_with = code_changes.shown_with(find_run(run_id, seen_by=request.auth.actor), asked)
    return code_changes.changes_shape(shown_with, code_changes.changes_of(shown_with, since))


def _with_secret(answer: Status[Json], request: ApiRequest, body: AskPeople) -> Status[Json]:
    """The answer with what its calls are known by; that is never stored, not even with a key."""
    if not body.callback_url:
        return answer
    secret = signing.secret_of(str(answer.value["request_id"]), request.auth.token.pk)
    return Status(answer.status_code, {**answer.value, "callback_secret": secret})


def _check(body: AskPeople, actor: Actor, project: Project | None) -> None:
    """Before the transaction: an address is looked up in the network."""
    permissions.check_may_act(actor, project)
    if body.callback_url:
        callbacks.check(body.callback_url)


def _asked(request: ApiRequest, run: Run, body: AskPeople, *, lease: str = "") -> Json:
    sent = [(body.artifact.path, body.artifact.data)] if body.artifact else []
    remote.ask(
        run,
        questions.question_of(body, remote.gate_of(run)),
        executor=request.auth.token.name,
        lease=lease,
        files=remote.sent_files(sent),
    )
    asked = FeedbackRequest.objects.get(run=run, status=RequestStatus.PENDING)
    asked.asked_by = request.auth.token.name
    asked.save(update_fields=["asked_by"])
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
        find_request(request_id, seen_by=request.auth.actor)
        response = respond(
            request_id,
            body.response,
            actor=request.auth.actor,
            words=Words(
                comment=body.comment,
                items=[item.model_dump(exclude_none=True) for item in body.items],
                edits=[Edit(path=edit.path, content=edit.content) for edit in body.edits],
                rule=body.rule.model_dump() if body.rule else None,
            ),
            seal=body.seal,
            seen=seen,
        )
        return 200, request_shape(response.request)

    find_request(request_id, seen_by=request.auth.actor)
    try:
        with shown.compared(request_id) as seen:
            return idempotency.once_in_transaction(request, work)
    except InvalidAnswer as error:
        options = [
            option.value for option in find_request(request_id, seen_by=request.auth.actor).choices
        ]
        error.details.setdefault("options", options)
        raise


@router.post(
    "/requests/{request_id}/override",
    response=answers({200: RequestJson}, 404, 409),
    operation_id="overrideRequest",
    summary="Decide a request in the place of its reviewers",
)
def override(
    request: ApiRequest,
    request_id: str,
    body: OverrideRequest,
    idempotency_key: IdempotencyHeader,
) -> Status[Json]:
    """For operators, whoever is asked and however many must agree; the reason stays on record."""

    def work() -> tuple[int, Json]:
        response = respond(
            request_id,
            body.response,
            actor=request.auth.actor,
            words=Words(comment=body.comment),
            seal=body.seal,
            seen=seen,
            override=body.reason.strip(),
        )
        return 200, request_shape(response.request)

    find_request(request_id, seen_by=request.auth.actor)
    if not body.reason.strip():
        raise Invalid([Problem("reason", "must not be empty")])
    with shown.compared(request_id) as seen:
        return idempotency.once_in_transaction(request, work)


@router.post(
    "/requests/{request_id}/withdraw",
    response=answers({200: RequestJson}, 404, 409),
    operation_id="withdrawRequest",
    summary="Withdraw a question of one's own",
)
def withdraw(
    request: ApiRequest,
    request_id: str,
    idempotency_key: IdempotencyHeader,
    body: WithdrawRequest = WithdrawRequest(),  # noqa: B008
) -> Status[Json]:
    """For the token that asked it: `next` hands the step out again, a run made for the question
    ends."""

    def work() -> tuple[int, Json]:
        caller = request.auth
        asked = withdrawal.withdraw(request_id, actor=caller.actor, token=caller.token.name)
        return 200, request_shape(asked)

    find_request(request_id, seen_by=request.auth.actor)
    return idempotency.once_in_transaction(request, work)


@router.post(
    "/requests/{request_id}/delegate",
    response=answers({200: RequestJson}, 404, 409),
    operation_id="delegateRequest",
    summary="Hand a request over",
)
def delegate(
    request: ApiRequest,
    request_id: str,
    body: DelegateRequest,
    idempotency_key: IdempotencyHeader,
) -> Status[Json]:
    """For whoever may answer it, and for operators: the other may answer in their place."""

    def work() -> tuple[int, Json]:
        asked = delegation.delegate(
            request_id, body.to, actor=request.auth.actor, comment=body.comment
        )
        return 200, request_shape(asked)

    find_request(request_id, seen_by=request.auth.actor)
    return idempotency.once_in_transaction(request, work)


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
        float, Query(55, ge=0, allow_inf_nan=False, description="Seconds, at most 60.")
    ],
) -> Status[Json]:
    """200 once it is answered or withdrawn and nobody can take that back any more, 202 while it
    is not: then ask again, after Retry-After seconds if that is given. A reviewer's question to
    the program that waits comes at once, as 202 with a `pending` entry in `thread`."""
    asked = find_request(request_id, seen_by=request.auth.actor)
    name, caller = asked.request_id, request.auth.token.name
    is_settled, had_seat = long_poll.wait(
        name,
        timeout,
        has_news=lambda: replying.is_asked(name, caller) or long_poll.is_leaving(request),
    )
    is_told = replying.deliver(name, caller)
    if not is_told:  # else a client that asks again first would never look at it
        long_poll.say_when_to_ask_again(request, response, had_seat=had_seat)
    return Status(
        200 if is_settled else 202,
        request_shape(find_request(request_id, seen_by=request.auth.actor)),
    )


@router.get(
    "/requests/{request_id}",
    response=answers({200: RequestJson}, 404),
    operation_id="getRequest",
    summary="One request",
)
def get_request(request: ApiRequest, request_id: str) -> Json:
    return request_shape(find_request(request_id, seen_by=request.auth.actor))
