"""The tools, with what a model has to know to use them well."""

import inspect
import json
import logging
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, JsonValue, ValidationError

from feedback.api.schemas import RequestJson, Requests
from feedback.mcp import permission, site
from feedback.mcp.local_site import problems_of
from feedback.mcp.site import Json
from runs.api.errors import Unexpected
from runs.api.schemas import FileSent, NextDecision, OptionSent, RunJson
from runs.domain.values.errors import FaberError, Invalid
from runs.domain.values.questions import FeedbackType
from runs.terminal.console import error_shape

logger = logging.getLogger(__name__)

# Many clients end a call after a minute, and many proxies a connection.
LONGEST_WAIT = 55.0

INSTRUCTIONS = """\
FABER puts questions to people and hands out the steps of workflow runs.
Ask with ask_human, then call wait_for_answer again and again until `settled` is true: people \
may take hours. Only people answer; no tool here can. What a person refuses stays refused: do not \
ask the same again, and do not look for a way around it.
To execute a run's remote steps: next_step, do what its briefing says, finish_step; follow the \
`action` of each answer until it is `done`."""

RunId = Annotated[
    str,
    Field(description="A run's full id (org/project/uuid), or the first 8 characters of its uuid."),
]


class WaitedRequest(RequestJson):
    """A request, and whether its outcome stands."""

    settled: bool = Field(
        description="True: the outcome is final. False: call wait_for_answer again, also when an "
        "answer is shown already, because its author can still take it back."
    )


async def ask_human(
    *,
    type: Annotated[  # noqa: A002 (the API's name)
        FeedbackType,
        Field(
            description="confirmation: do one thing or not; approval: may it go on; review: "
            "approve, ask for changes or reject an artifact; selection: choose one of `options`; "
            "clarification: answer in words; error_resolution: retry, skip or abort."
        ),
    ],
    prompt: Annotated[
        str,
        Field(
            description="The whole question, in Markdown, for somebody who has not seen your work: "
            "what you want to do, why, and what happens with each answer."
        ),
    ],
    run_id: Annotated[
        str,
        Field(
            description="Only when you execute a remote step of this run: the question parks the "
            "run, and after the answer next_step hands you the same step with it. Leave it out "
            "otherwise."
        ),
    ] = "",
    options: Annotated[
        list[OptionSent | str] | None,
        Field(description="What can be chosen; needed for a selection, else the type has its own."),
    ] = None,
    artifact: Annotated[
        FileSent | None, Field(description="A file to be shown and commented line by line.")
    ] = None,
    context: Annotated[
        dict[str, JsonValue] | None,
        Field(
            description="More facts; `summary`, `errors` and `warnings` are shown as such. For a "
            "clarification `questions` is its form, each a text or an object: `id`, `question`, "
            "`type` (text, number, boolean, date, choice, multi), `options`, `required`; the "
            "answers come in `response.values`, by id."
        ),
    ] = None,
    lease: Annotated[
        str, Field(description="With run_id: your lease of the step, which ends.")
    ] = "",
    project: Annotated[str, Field(description="Without run_id: ORG/NAME it is about.")] = "",
) -> Annotated[CallToolResult, RequestJson]:
    """Ask people a question; returns at once with its `request_id`, not with the answer.

    Call wait_for_answer with that id afterwards. Ask once: a question stays open until somebody
    answers, so never repeat it because nobody has answered yet.
    """
    question = {
        "type": type.value,
        "prompt": prompt,
        "options": [_plain(option) for option in options or ()],
        "artifact": artifact and artifact.model_dump(),
        "context": context or {},
        **({"lease": lease} if run_id else {"project": project}),
    }
    session = site.current.get()
    return _given(
        RequestJson, await session.in_thread(lambda: session.site.ask(question, run_id=run_id))
    )


async def wait_for_answer(
    request_id: Annotated[str, Field(description="As ask_human gave it: fr-YYYYMMDD-xxxxxx.")],
    timeout: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="Seconds; more than 55 are 55.")
    ] = 50,
) -> Annotated[CallToolResult, WaitedRequest]:
    """Wait for the answer to a question, for at most 55 seconds.

    When `settled` is false nobody has answered yet: that is no refusal, call again with the same
    request_id, as often as it takes. An entry of `thread` whose status is `pending` is a reviewer's
    question to you: reply_to_question, then call again. When `settled` is true, `response.response`
    is what was chosen or said, `response.comment` holds the person's words, and `response.action`
    what follows: with `continue` do it, with `revise` or `retry` do it again as the comment says,
    with `skip` leave it out, with `answer` use the words, and with `abort` a person refused: that
    is final, do not retry and do not ask again. `status` cancelled or superseded means that nobody
    will answer.
    """
    session = site.current.get()
    seconds = min(timeout, LONGEST_WAIT)
    waited = await session.in_thread(lambda: session.site.wait(request_id, seconds))
    return _given(WaitedRequest, {**waited.request, "settled": waited.is_settled})


async def reply_to_question(
    request_id: Annotated[str, Field(description="The request that the question is about.")],
    number: Annotated[int, Field(ge=1, description="Of the question, as `thread` tells it.")],
    answer: Annotated[str, Field(description="What the reviewer wants to know, in Markdown.")],
) -> Annotated[CallToolResult, RequestJson]:
    """Reply to a reviewer who asks about your question before deciding it.

    Such a question is an entry of `thread` whose status is `pending`. Only answer it: change
    nothing, and do not take it for the decision. Then call wait_for_answer again.
    """
    session = site.current.get()
    said = await session.in_thread(lambda: session.site.reply(request_id, number, answer))
    return _given(RequestJson, said)


async def withdraw_question(
    request_id: Annotated[str, Field(description="As ask_human gave it.")],
) -> Annotated[CallToolResult, RequestJson]:
    """Take back a question of your own that nobody needs to answer any more.

    Never withdraw a question in order to ask it again, or because a person takes long.
    """
    session = site.current.get()
    return _given(RequestJson, await session.in_thread(lambda: session.site.withdraw(request_id)))


async def next_step(run_id: RunId) -> Annotated[CallToolResult, NextDecision]:
    """Take the next remote step of a run.

    `execute`: do what `briefing` says, then call finish_step with `lease` before `lease_until`.
    `wait`: answer its `questions`, if there are any, with reply_to_question; with a `request_id`
    call wait_for_answer, without one somebody else works; then call
    next_step again. `done`: the run has ended, stop.
    """
    session = site.current.get()
    return _given(NextDecision, await session.in_thread(lambda: session.site.next_step(run_id)))


async def finish_step(
    run_id: RunId,
    lease: Annotated[str, Field(description="As next_step gave it.")],
    response: Annotated[
        dict[str, JsonValue],
        Field(
            description="What came of the step: `status` (success, warning, failure, "
            "pending_input), `message` in one sentence, and `details`, `errors`, `warnings`, "
            "`error_analysis`, `suggested_fixes` where they apply."
        ),
    ],
    artifacts: Annotated[
        list[FileSent] | None, Field(description="Files of the step, kept as revisions.")
    ] = None,
) -> Annotated[CallToolResult, NextDecision]:
    """Hand back what came of a step; returns the next decision, like next_step.

    Report honestly: a failure is put to a person, who may send you back. An error that says the
    lease is lost means that the step is not yours any more: stop, and do not send it again.
    """
    session = site.current.get()
    finished = {
        "lease": lease,
        "response": response,
        "artifacts": [file.model_dump() for file in artifacts or ()],
    }
    return _given(
        NextDecision, await session.in_thread(lambda: session.site.finish_step(run_id, finished))
    )


async def run_status(run_id: RunId) -> Annotated[CallToolResult, RunJson]:
    """How a run stands: its status, its current step, and the request it waits for."""
    session = site.current.get()
    return _given(RunJson, await session.in_thread(lambda: session.site.run(run_id)))


async def list_pending(
    project: Annotated[str, Field(description="Only of this project, ORG/NAME.")] = "",
    cursor: Annotated[str, Field(description="The `next_cursor` of the page before.")] = "",
) -> Annotated[CallToolResult, Requests]:
    """Every question that waits for a person, the oldest first. You cannot answer them."""
    session = site.current.get()
    return _given(
        Requests,
        await session.in_thread(lambda: session.site.pending(project=project, cursor=cursor)),
    )


async def approve_tool_use(
    tool_name: Annotated[str, Field(description="The tool that would be used.")],
    input: Annotated[dict[str, Any], Field(description="What it would be given.")],  # noqa: A002
    ctx: Context,
    tool_use_id: str = "",
) -> CallToolResult:
    """For Claude Code's --permission-prompt-tool, not for you: asks a person whether a tool may
    be used, and waits for the answer."""

    async def report(seconds: float) -> None:
        await ctx.report_progress(seconds, message="waiting for a person to answer")

    verdict = await permission.decide(site.current.get(), tool_name, input, tool_use_id, report)
    return CallToolResult(content=[_text(json.dumps(verdict))])


class FaberServer(MCPServer[Any]):
    """Tells what went wrong in the API's sentences."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            told = _told(error)
            return CallToolResult(
                content=[_text(str(told))], structured_content=error_shape(told), is_error=True
            )


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_TOOLS: tuple[tuple[Callable[..., Any], ToolAnnotations], ...] = (
    (ask_human, _ACTS),
    (wait_for_answer, _READS),
    (reply_to_question, _ACTS),
    (withdraw_question, _ACTS),
    (next_step, _ACTS),
    (finish_step, _ACTS),
    (run_status, _READS),
    (list_pending, _READS),
    (approve_tool_use, _ACTS),
)


@cache
def server() -> FaberServer:
    """One for the whole process; who calls is in `sites.current`."""
    made = FaberServer(
        "faber", title="FABER", instructions=INSTRUCTIONS, subscriptions=False, log_level="WARNING"
    )
    for tool, annotations in _TOOLS:
        made.add_tool(tool, description=inspect.getdoc(tool), annotations=annotations)
    return made


def _given(model: type[BaseModel], document: Json) -> CallToolResult:
    # The keys that were set, as the API has them: a decision leaves out what does not apply.
    plain = model.model_validate(document).model_dump(mode="json", exclude_unset=True)
    text = json.dumps(plain, ensure_ascii=False)
    return CallToolResult(content=[_text(text)], structured_content=plain)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _plain(option: OptionSent | str) -> object:
    return option if isinstance(option, str) else option.model_dump()


def _told(error: ToolError) -> FaberError:
    cause = error.__cause__
    if isinstance(cause, FaberError):
        return cause
    if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
        return Invalid(problems_of(cause))
    if isinstance(error, UnexpectedToolError):
        logger.error("%s", error, exc_info=cause)
        return Unexpected()
    return FaberError(str(error))  # there is no such tool
