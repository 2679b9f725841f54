"""What is said on issues, from rows: requests, runs and replies, without any secret."""

from collections.abc import Sequence

from feedback.channels.github import comments
from feedback.channels.github.comments import DecisionShown, Link, RunStatusShown, Shown
from feedback.models import Delivery, FeedbackRequest, FeedbackResponse
from feedback.requests.request_json import request_url
from runs.context.secrets import concealed
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError
from runs.domain.values.status import RequestStatus
from runs.models import Run
from runs.record import state_json


def comment(delivery: Delivery) -> str:
    """What a comment should say now, with the mark it is found by."""
    if delivery.request:
        body = comments.request_comment(shown(delivery.request))
    elif delivery.run:
        body = _marked(status([delivery.run]), delivery.mark)
    else:
        body = _marked(delivery.body, delivery.mark)
    return concealed(body)


def shown(request: FeedbackRequest) -> Shown:
    run, told = request.run, request.background
    url = request_url(request)
    return Shown(
        request_id=request.request_id,
        run_id=run.run_id,
        work_id=run.work_id,
        type=request.feedback_type,
        phase=request.phase,
        step=request.step,
        prompt=request.prompt,
        options=request.choices,
        url=url,
        requested_at=request.requested_at,
        summary=told.summary,
        artifacts=tuple(
            Link(path=artifact.path, url=f"{url}artifacts/{artifact.revision}/{artifact.path}")
            for artifact in request.artifacts.defer("content").order_by("path")
        ),
        errors=told.errors,
        warnings=told.warnings,
        suggested_fixes=told.fixes,
        status=RequestStatus(request.status),
        closed_at=request.closed_at,
        decision=_decision(request.decision),
    )


# Replies


def understood(request: FeedbackRequest, response: FeedbackResponse) -> str:
    """Says back what was understood, so that a mistake is seen at once."""
    said = f"**{response.response}**" if not response.is_text else "this answer"
    at = f"[{request.request_id}]({request_url(request)})"
    if not response.decides:
        return f"Recorded {said} by {response.who} for {at}; more people have to agree."
    return f"Recorded {said} by {response.who} for {at}. The run goes on."


def accepted_forms(request: FeedbackRequest, reason: str) -> str:
    return comments.forms_comment(reason, [shown(request)])


def which_run(runs: Sequence[Run]) -> str:
    if not runs:
        return "No run waits on this issue."
    lines = "\n".join(f"- `--run {run.run_id}` ({run.state.label})" for run in runs)
    return f"More than one run is meant; say which with `--run`:\n\n{lines}"


def status(runs: Sequence[Run]) -> str:
    return comments.status_comment([_run(run) for run in runs])


def cancelled(run: Run) -> str:
    return f"The run [`{run.run_id}`]({state_json.run_url(run)}) is cancelled."


def help_text() -> str:
    return comments.help_comment()


def not_permitted(author: str) -> str:
    return f"Nothing was done: {author} may not decide here, which takes write access."


def refusal(error: FaberError) -> str:
    told = str(error)
    return told if told.startswith("Nothing was done") else f"Nothing was done. {told}"


def _run(run: Run) -> RunStatusShown:
    unit = run.unit if not run.state.is_final else None
    return RunStatusShown(
        run_id=run.run_id,
        status=run.state,
        url=state_json.run_url(run),
        phase=unit.phase.value if unit else "",
        step=unit.step.id if unit else "",
        progress=run.progress,
        updated_at=run.updated_at,
        message=run.error,
    )


def _decision(response: FeedbackResponse | None) -> DecisionShown | None:
    if response is None:
        return None
    return DecisionShown(
        response=response.response,
        who=response.who,
        source=Source(response.source),
        at=response.received_at,
        comment=response.comment,
    )


def _marked(body: str, mark: str) -> str:
    return f"{body}\n\n{comments.mark(mark)}"
