"""The calls about questions to an agent: a reviewer asks, a program replies."""

from ninja import Router, Status

from feedback.api.schemas import AskAgent, ReplyToQuestion, RequestJson
from feedback.requests.find import find_request
from feedback.requests.inquiries import asking, replying
from feedback.requests.request_json import request_shape
from runs.api import idempotency
from runs.api.auth import ApiRequest
from runs.api.runs import IdempotencyHeader
from runs.api.schemas import answers

Json = dict[str, object]

router = Router(tags=["requests"])


@router.post(
    "/requests/{request_id}/questions",
    response=answers({201: RequestJson}, 404, 409),
    operation_id="askAgent",
    summary="Ask the agent before deciding",
)
def ask_agent(
    request: ApiRequest, request_id: str, body: AskAgent, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """For reviewers and operators, never for an agent: the answer comes in `thread`, the request
    stays open and decides nothing."""

    def work() -> tuple[int, Json]:
        inquiry = asking.ask(request_id, body.question, actor=request.auth.actor)
        return 201, request_shape(inquiry.request)

    find_request(request_id, seen_by=request.auth.actor)
    return idempotency.once_in_transaction(request, work)


@router.post(
    "/requests/{request_id}/questions/{int:number}/reply",
    response=answers({200: RequestJson}, 404, 409),
    operation_id="replyToQuestion",
    summary="Reply to a reviewer's question",
)
def reply_to_question(
    request: ApiRequest,
    request_id: str,
    number: int,
    body: ReplyToQuestion,
    idempotency_key: IdempotencyHeader,
) -> Status[Json]:
    """For the token that asked the request or executed its step; once for each question."""

    def work() -> tuple[int, Json]:
        caller = request.auth
        asked = find_request(request_id, seen_by=caller.actor)
        replying.reply(asked, number, body.answer, actor=caller.actor, token=caller.token.name)
        return 200, request_shape(asked)

    find_request(request_id, seen_by=request.auth.actor)
    return idempotency.once_in_transaction(request, work)
