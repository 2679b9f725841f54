"""The calls with which an agent's hook asks about a tool, and hears what people decided."""

from dataclasses import asdict
from typing import Annotated, Literal

from django.http import HttpResponse
from ninja import Router, Status
from pydantic import BaseModel, Field, JsonValue

from feedback.api import long_poll
from feedback.models import ToolCall
from feedback.requests.find import find_request
from feedback.requests.request_json import request_url
from feedback.tool_calls import asking
from feedback.tool_calls.verdict import verdict_on
from feedback.tool_calls.wording import ToolUse
from runs.accounts import permissions
from runs.api.auth import ApiRequest
from runs.api.schemas import Sent, answers
from runs.engine import starting

Json = dict[str, object]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]

router = Router(tags=["tool calls"])


class ToolCallSent(Sent):
    """A tool that an agent is about to use."""

    tool: Name
    input: dict[str, JsonValue]
    session: Name = Field(description="The agent's session: in another one it is another call.")
    event: Name = Field(description="The event that asks, such as PermissionRequest.")
    waiter: Annotated[str, Field(min_length=8, max_length=64)] = Field(
        description="A random name of the process that waits; the same whenever it asks again."
    )
    agent: Literal["claude", "codex", "other"] = "claude"
    folder: Annotated[str, Field(max_length=1000)] = ""
    project: Annotated[str, Field(max_length=200)] = ""
    wait: float = Field(
        0, ge=0, strict=True, allow_inf_nan=False, description="Seconds; more than 60 are 60."
    )


class LeaveCall(Sent):
    waiter: Annotated[str, Field(min_length=8, max_length=64)]
    withdraw: bool = Field(True, description="False leaves the request for the call's next event.")


class ToolVerdictJson(BaseModel):
    behavior: Literal["allow", "deny", "none"] = Field(
        description="none: withdrawn, nothing was decided."
    )
    message: str = Field(description="For the agent: why not, or what should change.")
    answers: dict[str, str] = Field(description="To its questions, by their text.")
    rule: str = Field(description="The standing rule that decided, as NAME@VERSION; else empty.")


class ToolCallJson(BaseModel):
    call: int
    request_id: str
    url: str
    verdict: ToolVerdictJson | None = Field(description="null while nobody has decided.")


@router.post(
    "/tool-calls",
    response=answers({200: ToolCallJson, 202: ToolCallJson}, 404, 409),
    operation_id="askToolUse",
    summary="Ask whether a tool may be used",
)
def ask_tool_use(request: ApiRequest, response: HttpResponse, body: ToolCallSent) -> Status[Json]:
    """200 with the verdict, or 202 while nobody has decided: then send the same again, after
    Retry-After seconds if that is given.

    The same call of the same session is asked once, whoever sends it; a request that nobody waits
    for is withdrawn after two minutes.
    """
    actor = request.auth.actor
    project = starting.project_seen(body.project, actor) if body.project else None
    permissions.check_may_act(actor, project)
    call = ToolUse(
        tool=body.tool,
        given=body.input,
        **body.model_dump(exclude={"tool", "input", "wait"}),
    )
    known = asking.ask(call, actor, executor=request.auth.token.name)
    is_settled, had_seat = long_poll.wait(
        known.request.request_id, body.wait, has_news=lambda: long_poll.is_leaving(request)
    )
    long_poll.say_when_to_ask_again(request, response, had_seat=had_seat)
    return _told(known, call.event if is_settled else "")


@router.post(
    "/tool-calls/{int:call}/leave",
    response=answers({200: ToolCallJson}, 404),
    operation_id="leaveToolCall",
    summary="Stop waiting for a tool's permission",
)
def leave_tool_call(request: ApiRequest, call: int, body: LeaveCall) -> Status[Json]:
    """Withdraws the request, because the call was decided elsewhere or nobody waits any more."""
    known = asking.find(call, request.auth.actor)
    asking.leave(known, body.waiter, withdraws=body.withdraw)
    return _told(known, "", status=200)


def _told(known: ToolCall, event: str, *, status: int = 0) -> Status[Json]:
    asked = find_request(known.request.request_id, seen_by=None)
    verdict = verdict_on(asked) if event else None
    if event:
        asking.hand_out(known, event)
    return Status(
        status or (200 if verdict else 202),
        {
            "call": known.pk,
            "request_id": asked.request_id,
            "url": request_url(asked),
            "verdict": verdict and asdict(verdict),
        },
    )
