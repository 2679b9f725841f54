"""Checks that what reviewers asked agents, and what those said, is as it was put on record."""

from collections.abc import Iterator, Mapping

from feedback.models import Inquiry
from feedback.requests.inquiries import on_record
from runs.models import AuditEntry

Lines = Mapping[str, AuditEntry]  # the newest of each row


def faults(asked: Lines, replied: Lines) -> Iterator[str]:
    seen = set()
    for inquiry in Inquiry.objects.select_related("request__run").iterator():
        subject = on_record.subject_of(inquiry)
        seen.add(subject)
        name = f"question {inquiry.number} on {inquiry.request.request_id}"
        for problem in _problems(inquiry, asked.get(subject), replied.get(subject)):
            yield f"{inquiry.request.run.run_id}: {problem.format(name)}"
    for subject, line in asked.items():
        if subject not in seen:
            yield f"{line.run_id}: a question to the agent on {line.request_id} is gone"


def _problems(
    inquiry: Inquiry, asked: AuditEntry | None, replied: AuditEntry | None
) -> Iterator[str]:
    if asked is None:
        yield "{} is not on record"
    elif asked.digest != on_record.question_digest(inquiry):
        yield "{} was changed"
    if replied is None and inquiry.is_settled:
        yield "the agent's reply to {} is not on record"
    elif replied is not None and replied.digest != on_record.reply_digest(inquiry):
        yield "the agent's reply to {} was changed"
