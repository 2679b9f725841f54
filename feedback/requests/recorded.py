"""What the site's record keeps of questions and answers, and whether it still holds."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.inquiries import on_record
from runs.chain import entries, keys
from runs.domain.values.actors import Actor
from runs.domain.values.status import RequestStatus
from runs.models import Artifact, AuditEntry, AuditKind, CodeSnapshot, Run

_OF_A_QUESTION_AT_FIRST = (
    *("request_id", "type", "gate", "gate_key", "prompt", "options", "context", "phase"),
    *("step", "step_index", "reviewers", "quorum", "seal", "requested_at"),
)
_OF_AN_ANSWER_AT_FIRST = (
    *("response", "action", "comment", "items", "skipped", "decides", "identity"),
    *("provided_by", "seal", "received_at", "imported"),
)
# By the form of their line: which columns its digest is made of.
_OF_A_QUESTION = {
    1: _OF_A_QUESTION_AT_FIRST,
    2: (*_OF_A_QUESTION_AT_FIRST, "own_title", "round", "max_rounds", "agent", "cost_usd"),
}
_ALSO_OF_A_QUESTION = (
    *("due_at", "on_timeout", "remind_every", "escalate_to", "escalated_at"),
    *("assignee", "delegated", "quorum_groups", "repeats"),
)
_OF_AN_ANSWER = {1: _OF_AN_ANSWER_AT_FIRST, 2: (*_OF_AN_ANSWER_AT_FIRST, "held_until")}

_ALSO_OF_AN_ANSWER = ("edits", "override", "rule")


def question(
    request: FeedbackRequest, shown: Sequence[Artifact], marks: Mapping[str, object] | None = None
) -> None:
    entries.write(
        AuditKind.QUESTION,
        run=request.run,
        at=request.requested_at,
        request_id=request.request_id,
        what=request.type,
        digest=question_digest(request, shown_in(shown), entries.FORM),
        marks=marks or {},
    )


def decision(response: FeedbackResponse, marks: Mapping[str, object] | None = None) -> None:
    """An answer, whether it decides or is one of several that must agree."""
    request = response.request
    entries.write(
        AuditKind.DECISION,
        run=request.run,
        at=response.received_at,
        who=response.who[:200],
        account=_account(response)[:200],
        channel=response.source[:30],
        request_id=request.request_id,
        what=response.response,
        comment=response.comment,
        reason=str(response.override.get("reason", "")) or _rule(response),
        subject=subject_of(response),
        digest=answer_digest(response, request.request_id, entries.FORM),
        marks={**_marks(response), **(marks or {})},
    )


def _marks(response: FeedbackResponse) -> dict[str, object]:
    marks = {"timed_out": response.timed_out, "override": bool(response.override)}
    return {mark: True for mark, is_set in marks.items() if is_set}


def _rule(response: FeedbackResponse) -> str:
    """The standing rule that decided, with its version."""
    rule = response.provided_by.get("rule")
    return f"{rule['name']}@{rule['version']}" if isinstance(rule, Mapping) else ""


def _account(response: FeedbackResponse) -> str:
    """The account behind the name: on a command line the name is git's, which anybody sets."""
    return str(response.provided_by.get("account") or (response.user and response.name) or "")


def retraction(response: FeedbackResponse, *, reason: str, actor: Actor | None = None) -> None:
    """An answer was taken back, or came too late to count."""
    request = response.request
    entries.write(
        AuditKind.RETRACTION,
        actor=actor,
        run=request.run,
        request_id=request.request_id,
        what=response.response,
        reason=reason,
        subject=subject_of(response),
    )


def withdrawal(request: FeedbackRequest, *, reason: str) -> None:
    """A question that nobody decided is not asked any more."""
    entries.write(
        AuditKind.RETRACTION,
        run=request.run,
        at=request.closed_at,
        request_id=request.request_id,
        what=request.status,
        reason=reason,
        subject=withdrawn_name(request.request_id),
    )


def withdrawn_name(request_id: str) -> str:
    return f"question {request_id}"


def whole(run: Run) -> None:
    """Put on record what came with a directory: all that is new there, or other than before."""
    lines = AuditEntry.objects.filter(run_id=run.run_id).order_by("id")
    known = {(line.kind, line.request_id, line.subject): line.digest for line in lines}
    imported = {"imported": True}
    if known.get((AuditKind.RUN, "", "")) != entries.run_digest(run, entries.FORM):
        entries.run_started(run, None, who=run.started_by, marks=imported)
    requests = run.requests.prefetch_related("artifacts", "responses")
    for request in requests:
        request.run = run
        shown = list(request.artifacts.all())
        digest = question_digest(request, shown_in(shown), entries.FORM)
        if known.get((AuditKind.QUESTION, request.request_id, "")) != digest:
            question(request, shown, marks=imported)
        for response in request.responses.all():
            response.request = request
            key = (request.request_id, subject_of(response))
            answer = answer_digest(response, request.request_id, entries.FORM)
            if known.get((AuditKind.DECISION, *key)) != answer:
                decision(response, marks=imported)
            if response.is_retracted and (AuditKind.RETRACTION, *key) not in known:
                retraction(response, reason="It came too late or was retracted there.")
        on_record.imported(list(request.inquiries.select_related("request__run")))
        if _is_withdrawn(request):
            key = (request.request_id, withdrawn_name(request.request_id))
            if (AuditKind.RETRACTION, *key) not in known:
                withdrawal(request, reason="It was not asked any more there.")


def _is_withdrawn(request: FeedbackRequest) -> bool:
    return request.status != RequestStatus.PENDING and request.decision is None


def subject_of(response: FeedbackResponse) -> str:
    return f"response {response.pk}"


Revision = tuple[str, int, str]


def shown_in(artifacts: Iterable[Artifact]) -> list[Revision]:
    return sorted((a.path, a.revision, a.sha256) for a in artifacts)


def question_digest(request: Any, shown: Sequence[Revision], form: int) -> str:
    # Questions from before there was any of this, and those without, keep the digest they had.
    more = _more(request, _ALSO_OF_A_QUESTION)
    code = [] if form == 1 else [_code_shown(request.snapshot)]
    values = _values(request, _OF_A_QUESTION[form])
    return keys.digest(*values, shown, *code, *([more] if more else []))


def _more(row: Any, names: Sequence[str]) -> dict[str, object]:
    return {name: value for name in names if (value := getattr(row, name, None))}


def _code_shown(kept: CodeSnapshot | None) -> Sequence[str] | None:
    """What a reviewer is shown of the code, as it lies in the database."""
    if kept is None:
        return None
    return [kept.base, kept.head, kept.tree, hashlib.sha256(bytes(kept.listing)).hexdigest()]


def answer_digest(response: Any, request_id: str, form: int) -> str:
    values = _values(response, _OF_AN_ANSWER[form])
    # Answers from before there were any, and those without, keep the digest they had.
    more = _more(response, _ALSO_OF_AN_ANSWER)
    edits = more.pop("edits", None)
    return keys.digest(request_id, *values, *([edits] if edits else []), *([more] if more else []))


def _values(row: Any, names: Sequence[str]) -> Sequence[object]:
    return [getattr(row, name) for name in names]


def shown_by_request() -> Mapping[int, list[Revision]]:
    """What every request shows, by its key, without the content of any file."""
    rows = FeedbackRequest.artifacts.through.objects.order_by(
        "feedbackrequest_id", "artifact__path", "artifact__revision"
    ).values_list("feedbackrequest_id", "artifact__path", "artifact__revision", "artifact__sha256")
    shown: dict[int, list[Revision]] = {}
    for pk, path, revision, sha256 in rows.iterator():
        shown.setdefault(pk, []).append((path, revision, sha256))
    return shown
