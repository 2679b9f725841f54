"""A reviewer's work before it is sent: remarks on lines, a draft, and the answer with both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import Draft, FeedbackRequest, FeedbackResponse, ReviewComment
from feedback.requests import answers
from feedback.requests.answers import Words
from runs.domain.values.actors import Actor
from runs.domain.values.errors import InvalidAnswer, NotFound, Refused
from runs.domain.values.status import RequestStatus
from runs.models import Artifact

MOST_REMARKS = 500
LONGEST_REMARK = 10_000
_LONGEST_QUOTE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlace:
    """Lines of one revision of an artifact, and what was selected there."""

    path: str
    revision: int
    line: int
    end_line: int
    quote: str = ""


def remarks_of(asked: FeedbackRequest, author: AbstractBaseUser) -> QuerySet[ReviewComment]:
    """What somebody has noted on a request and not sent yet; nobody else sees it."""
    return asked.remarks.filter(author_id=author.pk, response=None).order_by("path", "line", "id")


def remark(
    asked: FeedbackRequest, author: AbstractBaseUser, place: LinePlace, *, body: str, kind: str
) -> ReviewComment:
    """Note something on lines of an artifact that is being decided on."""
    _check_open(asked)
    artifact = asked.artifacts.filter(path=place.path, revision=place.revision).first()
    if artifact is None:
        raise NotFound(f"{place.path} revision {place.revision} is not part of this request.")
    quote = place.quote or _lines(artifact, place)
    if remarks_of(asked, author).count() >= MOST_REMARKS:
        raise Refused(f"There are {MOST_REMARKS} comments already; send them first.")
    return ReviewComment.objects.create(
        request=asked,
        author_id=author.pk,
        path=place.path,
        revision=place.revision,
        line=place.line,
        end_line=place.end_line,
        quote=quote[:_LONGEST_QUOTE],
        body=body.strip(),
        kind=kind,
    )


def change(remark: ReviewComment, *, body: str, kind: str) -> None:
    remark.body, remark.kind = body.strip(), kind
    remark.save(update_fields=["body", "kind"])


def find(asked: FeedbackRequest, author: AbstractBaseUser, pk: int) -> ReviewComment:
    found = remarks_of(asked, author).filter(pk=pk).first()
    if found is None:
        raise NotFound("This comment is not there any more, or it was sent.")
    return found


def save_draft(asked: FeedbackRequest, author: AbstractBaseUser, typed: Mapping[str, str]) -> None:
    """Keep what is typed; another machine shows it when the same person signs in there."""
    Draft.objects.update_or_create(
        request=asked,
        author_id=author.pk,
        defaults={"values": dict(typed), "saved_at": timezone.now()},
    )


def draft_of(asked: FeedbackRequest, author: AbstractBaseUser) -> Mapping[str, str]:
    kept = Draft.objects.filter(request=asked, author_id=author.pk).first()
    return kept.values if kept else {}


def send(
    asked: FeedbackRequest,
    answer: str,
    *,
    author: AbstractBaseUser,
    actor: Actor,
    comment: str,
    seal: str,
) -> FeedbackResponse:
    """Answer with everything noted so far; each remark becomes a numbered item."""
    with transaction.atomic():
        noted = list(remarks_of(asked, author))
        response = answers.respond(
            asked.request_id,
            answer,
            actor=actor,
            words=Words(comment=comment, items=_items(noted)),
            seal=seal,
        )
        sent = ReviewComment.objects.filter(pk__in=[remark.pk for remark in noted])
        sent.update(response=response)
    return response


def undo(asked: FeedbackRequest, actor: Actor) -> None:
    """Take an answer back; its remarks and words are a draft again."""
    with transaction.atomic():
        retracted = answers.retract(asked.request_id, actor)
        ReviewComment.objects.filter(response=retracted).update(response=None)


def _items(remarks: Iterable[ReviewComment]) -> list[dict[str, object]]:
    return [
        {
            "path": remark.path,
            "revision": remark.revision,
            "line": remark.line,
            "end_line": remark.end_line,
            "quote": remark.quote,
            "body": remark.body,
            "kind": remark.kind,
        }
        for remark in remarks
    ]


def _check_open(asked: FeedbackRequest) -> None:
    if asked.status != RequestStatus.PENDING:
        raise Refused("This request is closed; comments cannot be added any more.")


def _lines(artifact: Artifact, place: LinePlace) -> str:
    lines = artifact.lines
    if place.end_line > len(lines):
        raise InvalidAnswer(f"{place.path} has only {len(lines)} lines.")
    return "\n".join(lines[place.line - 1 : place.end_line])
