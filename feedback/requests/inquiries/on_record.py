"""What the site's record keeps of questions to an agent and of its answers."""

from collections.abc import Mapping, Sequence

from feedback.models import Inquiry
from runs.chain import entries, keys
from runs.models import AuditEntry, AuditKind


def question(inquiry: Inquiry, marks: Mapping[str, object] | None = None) -> None:
    by = inquiry.asked_by
    entries.write(
        AuditKind.INQUIRY,
        who=inquiry.who[:200],
        account=str(by.get("account") or "")[:200],
        channel=str(by.get("source") or "")[:30],
        run=inquiry.request.run,
        marks=marks or {},
        at=inquiry.asked_at,
        request_id=inquiry.request.request_id,
        what="asked the agent",
        comment=inquiry.question,
        subject=subject_of(inquiry),
        digest=question_digest(inquiry),
    )


def reply(inquiry: Inquiry, marks: Mapping[str, object] | None = None) -> None:
    entries.write(
        AuditKind.REPLY,
        marks=marks or {},
        run=inquiry.request.run,
        at=inquiry.answered_at,
        who=(inquiry.agent or inquiry.token)[:200],
        request_id=inquiry.request.request_id,
        what=inquiry.state,
        comment=inquiry.answer or inquiry.problem,
        subject=subject_of(inquiry),
        digest=reply_digest(inquiry),
    )


def subject_of(inquiry: Inquiry) -> str:
    return f"inquiry {inquiry.pk}"


def question_digest(inquiry: Inquiry) -> str:
    asked = (inquiry.number, inquiry.question, inquiry.asked_by, inquiry.asked_at)
    return keys.digest(inquiry.request.request_id, *asked)


def reply_digest(inquiry: Inquiry) -> str:
    said = (inquiry.state, inquiry.agent, inquiry.answer, inquiry.problem, inquiry.answered_at)
    return keys.digest(inquiry.request.request_id, inquiry.number, *said)


def imported(inquiries: Sequence[Inquiry]) -> None:
    """Put on record what came with a directory and is not on it yet."""
    subjects = [subject_of(inquiry) for inquiry in inquiries]
    known = set(AuditEntry.objects.filter(subject__in=subjects).values_list("subject", flat=True))
    for inquiry in inquiries:
        if subject_of(inquiry) not in known:
            question(inquiry, {"imported": True})
            if inquiry.is_settled:
                reply(inquiry, {"imported": True})
