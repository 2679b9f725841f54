"""Checks that the record is whole: its chain, and every row that a line of it vouches for."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import BinaryField
from django.db.models.functions import Cast

from feedback.audit import threads
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import recorded, shown
from runs.chain import entries, links
from runs.chain.links import Checkpoint
from runs.domain.values.events import EventType
from runs.domain.values.status import RequestStatus
from runs.engine.concealing import concealed
from runs.engine.history import broken_links
from runs.models import Artifact, AuditEntry, AuditKind, Event, Run
from runs.terminal.layout import one_line

Key = tuple[str, str]  # which request, which response


def faults(checkpoint: Checkpoint | None = None) -> list[str]:
    """What is broken, in sentences; nothing when the record is whole."""
    links.link_all()
    found: list[str] = []
    if checkpoint:
        found += links.faults_against(checkpoint)
    vouched = _Vouched()
    for line in links.walk(found):
        vouched.add(line)
    return [
        *found,
        *_runs(vouched),
        *_questions(vouched),
        *_answers(vouched),
        *threads.faults(vouched.inquiries, vouched.replies),
        *_files(),
        *_untold(),
        *_unrecorded(),
    ]


@dataclass
class _Vouched:
    """What the lines of the record say there is: for each row the newest word."""

    runs: dict[str, AuditEntry] = field(default_factory=dict)
    questions: dict[str, AuditEntry] = field(default_factory=dict)
    answers: dict[str, AuditEntry] = field(default_factory=dict)
    retracted: dict[str, AuditEntry] = field(default_factory=dict)
    inquiries: dict[str, AuditEntry] = field(default_factory=dict)
    replies: dict[str, AuditEntry] = field(default_factory=dict)
    anchors: dict[str, dict[int, str]] = field(default_factory=dict)

    def add(self, line: AuditEntry) -> None:
        match line.kind:
            case AuditKind.RUN:
                self.runs[line.run_id] = line
            case AuditKind.QUESTION:
                self.questions[line.request_id] = line
            case AuditKind.DECISION:
                self.answers[line.subject] = line
            case AuditKind.RETRACTION:
                self.retracted[line.subject] = line
            case AuditKind.INQUIRY:
                self.inquiries[line.subject] = line
            case AuditKind.REPLY:
                self.replies[line.subject] = line
        if line.event_number:
            self.anchors.setdefault(line.run_id, {})[line.event_number] = line.event_hash


def _runs(vouched: _Vouched) -> Iterator[str]:
    seen = set()
    for run in Run.objects.iterator():
        seen.add(run.run_id)
        line = vouched.runs.get(run.run_id)
        if line is None:
            yield f"{run.run_id}: the run is not on record"
        elif line.digest != entries.run_digest(run, line.form):
            yield f"{run.run_id}: what the run was started with was changed"
        yield from broken_links(run, vouched.anchors.get(run.run_id, {}))
    for run_id in vouched.runs:
        if run_id not in seen:
            yield f"{run_id}: the run is gone"


def _questions(vouched: _Vouched) -> Iterator[str]:
    files, decided = recorded.shown_by_request(), _decided_at()
    seen = set()
    for request in FeedbackRequest.objects.select_related("run", "snapshot").iterator(100):
        name = request.request_id
        seen.add(name)
        line, where = vouched.questions.get(name), request.run.run_id
        if line is None:
            yield f"{where}: the question {name} is not on record"
        elif line.digest != recorded.question_digest(request, files.get(request.pk, []), line.form):
            yield f"{where}: the question {name} was changed"
        elif not _stands(request, line, decided.get(request.pk), vouched):
            yield f"{where}: the question {name} is {request.status}, which the record does not say"
    for name, line in vouched.questions.items():
        if name not in seen:
            yield f"{line.run_id}: the question {name} is gone"


def _decided_at() -> dict[int, datetime]:
    """When each question was decided, by its key."""
    counts = FeedbackResponse.objects.filter(decides=True).exclude(state=_RETRACTED)
    return dict(counts.values_list("request_id", "received_at").iterator())


def _stands(
    request: FeedbackRequest, line: AuditEntry, decided_at: datetime | None, vouched: _Vouched
) -> bool:
    """Whether it is open, decided or withdrawn as the record tells, and since then."""
    withdrawn = vouched.retracted.get(recorded.withdrawn_name(request.request_id))
    now = (RequestStatus(request.status), request.closed_at)
    if request.run.mirrors:  # whoever executes it says what it asks
        return True
    if decided_at is not None:
        # A decision on a file that changed is asked again. What a directory says of times is a
        # claim, and the first form read the clock twice for one answer.
        is_superseded = now[0] is RequestStatus.SUPERSEDED and _has_successor(request)
        is_dated = line.form > 1 and not request.run.imported_at
        is_then = now[1] == decided_at if is_dated else now[1] is not None
        return is_then and (now[0] is RequestStatus.ANSWERED or is_superseded)
    if withdrawn is not None:
        return now == (withdrawn.what, withdrawn.at)
    # The first form told of no withdrawal.
    is_untold = line.form == 1 and now[0] in (RequestStatus.CANCELLED, RequestStatus.SUPERSEDED)
    return is_untold or now == (RequestStatus.PENDING, None)


def _has_successor(request: FeedbackRequest) -> bool:
    return bool(request.run.imported_at) or shown.newer(request) is not None


def _answers(vouched: _Vouched) -> Iterator[str]:
    seen = set()
    for response in FeedbackResponse.objects.select_related("request__run").iterator():
        subject, request = recorded.subject_of(response), response.request
        seen.add(subject)
        line = vouched.answers.get(subject)
        said = f"{request.run.run_id}: the answer {_short(response)} to {request.request_id}"
        if line is None:
            yield f"{said} is not on record"
        elif line.digest != recorded.answer_digest(response, request.request_id, line.form):
            yield f"{said} was changed"
        elif response.user_id and response.identity != f"user:{response.user_id}":
            yield f"{said} is filed under another account"
        elif response.is_retracted != (subject in vouched.retracted):
            yield f"{said} is {response.state}, which the record does not say"
    for subject, line in vouched.answers.items():
        if subject not in seen:
            answer = f"{one_line(line.what, 60)!r} of {line.who}"
            yield f"{line.run_id}: the answer {answer} to {line.request_id} is gone"


def _files() -> Iterator[str]:
    """Revisions that are not the bytes they were, or not those their history tells of."""
    # Whoever wrote text in the place of bytes is named as well: a database may keep it as such.
    kept = Artifact.objects.defer("content").annotate(kept=Cast("content", BinaryField()))
    for artifact in kept.select_related("run").order_by("run", "id").iterator(100):
        where = f"{artifact.run.run_id}: {artifact.path} revision {artifact.revision}"
        is_whole = artifact.size == len(artifact.kept)
        if not is_whole or hashlib.sha256(artifact.kept).hexdigest() != artifact.sha256:
            yield f"{where} was changed"
        elif not artifact.run.told_elsewhere and not _is_told(artifact):
            yield f"{where} is not the file that its history tells of"


def _is_told(artifact: Artifact) -> bool:
    told = Event.objects.filter(
        run=artifact.run, type__in=(EventType.ARTIFACT_CREATE, EventType.ARTIFACT_MODIFY)
    )
    return any(
        {"path": artifact.path, "sha": artifact.sha256}.items() <= file.items()
        for event in told
        for file in event.document.get("artifacts", ())
    )


def _untold() -> Iterator[str]:
    """Decisions that no event tells of."""
    told = Counter(key for _, key in _answers_told())
    # Imported decisions have no seal: their own history may never have told of them.
    decided = FeedbackResponse.objects.filter(decides=True, state=_TAKEN).exclude(seal="")
    # The history of a run that is executed elsewhere hears of it when it is written there.
    decided = decided.exclude(write_back__is_due=True)
    for response in decided.select_related("request__run").iterator():
        # Events are kept without secrets, an answer is kept as it was given.
        key = (response.request.request_id, concealed(response.response))
        if told[key] <= 0:
            said = f"{_short(response)} to {key[0]}"
            yield f"{response.request.run.run_id}: no event tells of the answer {said}"
        told[key] -= 1


_TAKEN, _RETRACTED = FeedbackResponse.State.TAKEN, FeedbackResponse.State.RETRACTED


def _unrecorded() -> Iterator[str]:
    """Events that tell of answers which are not on record."""
    taken = FeedbackResponse.objects.filter(state=_TAKEN)
    rows = taken.values_list("request__request_id", "response")
    on_record: Counter[Key] = Counter((name, concealed(said)) for name, said in rows.iterator())
    for event, key in _answers_told():
        # What an import brought along may be on record where it came from.
        if on_record[key] <= 0 and event.number > event.run.told_elsewhere:
            said = f"event {event.number} tells of {one_line(key[1], 60)!r} to {key[0]}"
            yield f"{event.run.run_id}: {said}, which is not on record"
        on_record[key] -= 1


def _answers_told() -> Iterator[tuple[Event, Key]]:
    told = Event.objects.filter(type=EventType.FEEDBACK_RECEIVED).select_related("run")
    for event in told.order_by("run", "number").iterator():
        about = event.document.get("metadata", {})
        if about.get("request_id"):
            yield event, (str(about["request_id"]), str(about.get("response", "")))


def _short(response: FeedbackResponse) -> str:
    # What was written over may hold anything.
    who = response.who if isinstance(response.provided_by, dict) else "somebody"
    return f"{one_line(response.response, 60)!r} of {who}"
