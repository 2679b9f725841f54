"""A reviewer's work before it is sent: remarks on lines, a draft, and the answer with both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from feedback.desk.code import code_lines
from feedback.models import Draft, FeedbackRequest, FeedbackResponse, ReviewComment
from feedback.requests import answers, edits, shown
from feedback.requests.answers import Words
from feedback.requests.edits import Edit, Editable
from runs.domain.values.actors import Actor
from runs.domain.values.errors import InvalidAnswer, NotFound, Refused
from runs.domain.values.status import RequestStatus

MOST_REMARKS = 500
LONGEST_REMARK = 10_000
BEGUN = "begun-"  # what a line comment that is not added yet is called in a draft
_LONGEST_QUOTE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlace:
    """Lines of an artifact's revision, or of one side of the code, and what was selected there."""

    path: str
    revision: int
    line: int
    end_line: int
    quote: str = ""
    side: str = ""  # of the code changes


def remarks_of(asked: FeedbackRequest, author: AbstractBaseUser) -> QuerySet[ReviewComment]:
    """What somebody has noted on a request and not sent yet; nobody else sees it."""
    return asked.remarks.filter(author_id=author.pk, response=None).order_by("path", "line", "id")


def remark(
    asked: FeedbackRequest,
    author: AbstractBaseUser,
    place: LinePlace,
    *,
    body: str,
    kind: str,
    replacement: str = "",
) -> ReviewComment:
    """Note something on lines of a file that is being decided on."""
    _check_open(asked)
    lines = _code_lines(asked, place) if place.side else _artifact_lines(asked, place)
    quote = place.quote or _quoted(lines, place)
    if remarks_of(asked, author).count() >= MOST_REMARKS:
        raise Refused(f"You already have {MOST_REMARKS} comments. Submit them first.")
    return ReviewComment.objects.create(
        request=asked,
        author_id=author.pk,
        path=place.path,
        revision=place.revision,
        side=place.side,
        line=place.line,
        end_line=place.end_line,
        quote=quote[:_LONGEST_QUOTE],
        body=body.strip(),
        kind=kind,
        replacement=replacement,
    )


def change(remark: ReviewComment, *, body: str, kind: str, replacement: str = "") -> None:
    remark.body, remark.kind, remark.replacement = body.strip(), kind, replacement
    remark.save(update_fields=["body", "kind", "replacement"])


def find(asked: FeedbackRequest, author: AbstractBaseUser, pk: int) -> ReviewComment:
    found = remarks_of(asked, author).filter(pk=pk).first()
    if found is None:
        raise NotFound("This comment was deleted or already submitted.")
    return found


def save_draft(asked: FeedbackRequest, author: AbstractBaseUser, typed: Mapping[str, str]) -> None:
    """Keep the fields of the answer as they were sent; begun line comments stay beside them."""
    with transaction.atomic():
        drafts = Draft.objects.select_for_update()
        row, _is_new = drafts.get_or_create(request=asked, author_id=author.pk)
        begun = {name: text for name, text in row.values.items() if name.startswith(BEGUN)}
        row.values, row.saved_at = {**begun, **typed}, timezone.now()
        row.save(update_fields=["values", "saved_at"])


def drop_draft(asked: FeedbackRequest, author: AbstractBaseUser, name: str) -> None:
    """Forget one text that was sent by itself."""
    with transaction.atomic():
        kept = Draft.objects.select_for_update().filter(request=asked, author_id=author.pk).first()
        if kept and kept.values.pop(name, None) is not None:
            kept.save(update_fields=["values"])


def draft_of(asked: FeedbackRequest, author: AbstractBaseUser) -> Mapping[str, str]:
    kept = Draft.objects.filter(request=asked, author_id=author.pk).first()
    return kept.values if kept else {}


def send(
    asked: FeedbackRequest,
    answer: str | Mapping[str, object],
    *,
    author: AbstractBaseUser,
    actor: Actor,
    comment: str,
    seal: str,
    has_edits: bool = False,
    rule: Mapping[str, object] | None = None,
) -> FeedbackResponse:
    """Answer with everything noted so far; each remark becomes a numbered item."""
    with shown.compared(asked.request_id) as seen, transaction.atomic():
        noted = list(remarks_of(asked, author))
        response = answers.respond(
            asked.request_id,
            answer,
            actor=actor,
            words=Words(
                comment=comment,
                items=_items(noted),
                edits=edits_of(asked, noted) if has_edits else (),
                rule=rule,
            ),
            seal=seal,
            seen=seen,
        )
        sent = ReviewComment.objects.filter(pk__in=[remark.pk for remark in noted])
        sent.update(response=response)
    return response


def undo(asked: FeedbackRequest, actor: Actor) -> None:
    """Take an answer back; its remarks and words are a draft again."""
    with transaction.atomic():
        retracted = answers.retract(asked.request_id, actor)
        ReviewComment.objects.filter(response=retracted).update(response=None)


def edits_of(asked: FeedbackRequest, remarks: Iterable[ReviewComment]) -> list[Edit]:
    """The files as they are when every suggestion is carried out."""
    by_path: dict[str, list[ReviewComment]] = {}
    for remark in remarks:
        if remark.is_edit:
            by_path.setdefault(remark.path, []).append(remark)
    files = edits.editable(asked, by_path)
    for path in by_path.keys() - files.keys():
        raise edits.refusal(asked, path)
    return [
        Edit(path=path, content=_carried_out(files[path], suggestions))
        for path, suggestions in by_path.items()
    ]


def _carried_out(file: Editable, suggestions: Sequence[ReviewComment]) -> str:
    """From the last line up, so that the numbers of the lines above stay what they were."""
    lines = file.lines
    last = len(lines) + 1
    for suggestion in sorted(suggestions, key=lambda each: each.line, reverse=True):
        if suggestion.end_line >= last:
            raise InvalidAnswer(
                f"Two suggestions change {suggestion.path} line {suggestion.end_line}. Keep one."
            )
        last = suggestion.line
        replaced = slice(suggestion.line - 1, suggestion.end_line)
        lines[replaced] = _in_place_of(lines[replaced], suggestion.replacement)
    return "".join(lines)


def _in_place_of(lines: Sequence[str], text: str) -> list[str]:
    """The text with the line ends that were there; no text, no lines."""
    if not text:
        return []
    end = lines[-1][len(lines[-1].rstrip("\r\n")) :]
    between = end or "\n"
    return [text.replace("\n", between) + end]


def _items(remarks: Iterable[ReviewComment]) -> list[dict[str, object]]:
    return [
        {
            "path": remark.path,
            **({"side": remark.side} if remark.side else {"revision": remark.revision}),
            "line": remark.line,
            "end_line": remark.end_line,
            "quote": remark.quote,
            "body": remark.body,
            "kind": remark.kind,
            **({"replacement": remark.replacement} if remark.is_suggestion else {}),
        }
        for remark in remarks
    ]


def _check_open(asked: FeedbackRequest) -> None:
    if asked.status != RequestStatus.PENDING:
        raise Refused("This request is closed. You can't add comments.")


def _artifact_lines(asked: FeedbackRequest, place: LinePlace) -> Mapping[int, str]:
    artifact = asked.artifacts.filter(path=place.path, revision=place.revision).first()
    if artifact is None:
        raise NotFound(f"{place.path} revision {place.revision} is not part of this request.")
    return dict(enumerate(artifact.lines, start=1))


def _code_lines(asked: FeedbackRequest, place: LinePlace) -> Mapping[int, str]:
    if asked.snapshot is None:
        raise NotFound("This request shows no code changes.")
    lines = code_lines.lines_of(asked.snapshot, place.path, place.side)
    if lines is None:
        raise NotFound(f"{place.path} is not among the changes of this request.")
    return lines


def _quoted(lines: Mapping[int, str], place: LinePlace) -> str:
    if place.end_line not in lines:
        raise InvalidAnswer(f"{place.path} has no line {place.end_line}.")
    return "\n".join(lines.get(at, "") for at in range(place.line, place.end_line + 1))
