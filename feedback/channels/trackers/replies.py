"""What is said on issues, from rows: requests, runs and replies, without any secret."""

from collections.abc import Sequence
from dataclasses import replace

from feedback.channels.markdown import comments, run_comments
from feedback.channels.markdown.comments import (
    AskedAgain,
    ChangesShown,
    DecisionShown,
    Link,
    Shown,
)
from feedback.channels.markdown.escape import block, line
from feedback.channels.markdown.run_comments import Decided, RunFollowed, RunStatusShown
from feedback.models import Delivery, FeedbackRequest, FeedbackResponse, Inquiry
from feedback.requests import code_changes
from feedback.requests.request_json import request_url
from feedback.requests.shown import newer, why_again
from runs.changes import store
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError
from runs.domain.values.status import RequestStatus, RunStatus
from runs.engine.concealing import concealed
from runs.models import Run
from runs.record import state_json
from runs.record.endings import ending_of

MOST_FORMS = comments.MOST_FORMS


def comment(delivery: Delivery) -> str:
    """What a comment should say now, with the mark it is found by."""
    if delivery.request:
        body = comments.request_comment(shown(delivery.request))
    elif delivery.run:
        body = run_comments.run_comment(followed(delivery.run, delivery.mark))
    else:
        body = _marked(delivery.body, delivery.mark)
    return concealed(body)


def shown(request: FeedbackRequest) -> Shown:
    run, told = request.run, request.background
    url = request_url(request)
    return Shown(
        request_id=request.request_id,
        run_id=run.run_id,
        title=request.title,
        work_id=run.work_id,
        type=request.feedback_type,
        phase=request.phase,
        step=request.step,
        prompt=request.prompt,
        options=request.choices,
        url=url,
        requested_at=request.requested_at,
        due_at=request.due_at,
        on_timeout=request.on_timeout,
        escalated_to=tuple(request.escalated_to),
        assignee=request.assignee,
        repeats=request.repeats,
        round_name=request.round_name,
        round_limit=request.round_limit,
        summary=told.summary,
        artifacts=tuple(
            Link(path=artifact.path, url=f"{url}artifacts/{artifact.revision}/{artifact.path}")
            for artifact in request.artifacts.defer("content").order_by("path")
        ),
        sections=told.sections,
        form=request.form,
        changes=_changes(request),
        status=RequestStatus(request.status),
        closed_at=request.closed_at,
        decision=_decision(request.decision),
        again=_again(request),
    )


def _changes(request: FeedbackRequest) -> ChangesShown | None:
    if request.snapshot is None:
        return None
    listing = store.load(request.snapshot).listing
    return ChangesShown(
        total=code_changes.total_of(request.snapshot),
        files=tuple((file.path, code_changes.measure_of(file)) for file in listing.files),
        url=f"{request_url(request)}?tab=changes",
    )


def followed(run: Run, mark: str) -> RunFollowed:
    """The one comment about a run, as it should be now."""
    asked = list(
        run.requests.prefetch_related("responses").select_related("delivery").order_by("pk")
    )
    pending = next((each for each in asked if each.status == RequestStatus.PENDING), None)
    own = getattr(pending, "delivery", None)
    return RunFollowed(
        status=replace(_run(run), pending=shown(pending) if pending else None),
        mark=mark,
        started_by=run.started_by,
        decided=[
            Decided(
                request_id=each.request_id,
                url=request_url(each),
                prompt=each.prompt,
                decision=decision,
            )
            for each in asked
            if (decision := _decision(each.decision))
        ],
        made=run.artifacts,
        comment_url=own.comment_url if own else "",
    )


# Replies


def understood(request: FeedbackRequest, response: FeedbackResponse) -> str:
    """Says back what was understood, so that a mistake is seen at once."""
    said = f"**{response.response}**" if not response.is_text else "this answer"
    at = f"[{request.request_id}]({request_url(request)})"
    if not response.decides:
        return f"Recorded {said} by {response.who} for {at}. More approvals are needed."
    if again := _again(response.request):
        asked = f"[{again.request_id}]({again.url})"
        return (
            f"Recorded {said} by {response.who} for {at}, but the run did not resume: "
            f"{again.why} Please answer {asked}."
        )
    return f"Recorded {said} by {response.who} for {at}. The run resumes."


def is_asked_again(response: FeedbackResponse) -> bool:
    """Whether the answer did not count: what it was about had changed."""
    return newer(response.request) is not None


def accepted_forms(reason: str, *requests: FeedbackRequest) -> str:
    """Why nothing was done, and what would be understood where these are asked."""
    return comments.forms_comment(reason, [shown(request) for request in requests])


def which_run(runs: Sequence[Run]) -> str:
    if not runs:
        return "This issue has no waiting run."
    lines = "\n".join(f"- `--run {run.run_id}` ({run.state.label})" for run in runs)
    return f"This matches more than one run. Choose one with `--run`:\n\n{lines}"


def status(runs: Sequence[Run]) -> str:
    return run_comments.status_comment([_run(run) for run in runs])


def asked_agent(inquiry: Inquiry) -> str:
    return f"Asked the agent for {_link(inquiry.request)}. The request stays open."


def answered_by_agent(inquiry: Inquiry) -> str:
    """The agent's answer to a question that was asked on the issue, or why there is none."""
    who = line(inquiry.agent or inquiry.token or "The agent")
    about = f"the question of {line(inquiry.who)} on {_link(inquiry.request)}"
    if not inquiry.answer:
        return f"{who} did not answer {about}: {block(inquiry.problem, 1_000)}"
    return f"**{who}** answered {about}:\n\n{block(inquiry.answer, 20_000)}"


def handed_over(request: FeedbackRequest) -> str:
    return f"{_link(request)} is assigned to {line(request.assignee)}."


def _link(request: FeedbackRequest) -> str:
    return f"[{request.request_id}]({request_url(request)})"


def cancelled(run: Run) -> str:
    return f"The run [`{run.run_id}`]({state_json.run_url(run)}) was cancelled."


def help_text() -> str:
    return comments.help_comment()


def not_permitted(author: str, what: str = "decide") -> str:
    return f"No action taken: {author} needs write access to {what} here."


def edited() -> str:
    return (
        "No action taken: the comment was edited, possibly by someone else. "
        "Post the command in a new comment."
    )


def refusal(error: FaberError) -> str:
    told = str(error)
    return told if told.startswith("No action taken") else f"No action taken. {told}"


def _run(run: Run) -> RunStatusShown:
    unit = run.unit if not run.state.is_final else None
    return RunStatusShown(
        run_id=run.run_id,
        title=run.title,
        status=run.state,
        url=state_json.run_url(run),
        phase=unit.phase.value if unit else "",
        step=unit.step.id if unit else "",
        progress=run.progress,
        updated_at=run.updated_at,
        outcome=str(ending_of(run) or "") if run.state is RunStatus.CANCELLED else "",
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
        marks=tuple(response.marks),
        override=str(response.override.get("reason", "")),
    )


def _again(request: FeedbackRequest) -> AskedAgain | None:
    asked = newer(request)
    if asked is None:
        return None
    return AskedAgain(request_id=asked.request_id, url=request_url(asked), why=why_again(asked))


def _marked(body: str, mark: str) -> str:
    return f"{body}\n\n{comments.mark(mark)}"
