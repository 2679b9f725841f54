"""Makes rows of the record that came with a run directory: as they were where it was written."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from feedback.exchange.export import KEPT_CODE, KEPT_FILES, RECORD
from feedback.exchange.plain_files import MOST_BYTES, read_plain
from feedback.exchange.record_reader import (
    KeptArtifact,
    KeptBatch,
    KeptComment,
    KeptRequest,
    KeptRun,
    Record,
)
from feedback.models import Delivery, FeedbackRequest
from runs.changes import archive, parts
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.domain.values.status import RequestStatus
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import Notes
from runs.engine.files.artifacts import LARGEST
from runs.models import Artifact, Batch, CodeSnapshot, Project, Run, StepAttempt
from runs.spending import counting
from runs.trackers import Place


def check(record: Record, plan: Plan) -> None:
    """Raises Invalid when parts of the record speak of others that are not there."""
    notes = Notes()
    if record.run.position > len(plan.units):
        notes.refuse("run.position", "is behind the end of the plan")
    for index, artifact in enumerate(record.artifacts):
        if not _is_one_of(artifact.attempt, record.attempts):
            notes.refuse(f"artifacts[{index}].attempt", "is not one of the attempts")
        if Path(artifact.path).is_absolute() or ".." in Path(artifact.path).parts:
            notes.refuse(f"artifacts[{index}].path", "is outside the work tree")
    for index, snapshot in enumerate(record.snapshots):
        if not _is_one_of(snapshot.previous, record.snapshots[:index]):
            notes.refuse(f"snapshots[{index}].previous", "is not one of those before it")
    for index, request in enumerate(record.requests):
        _check_request(f"requests[{index}]", request, record, notes)
    if notes.problems:
        raise Invalid(Problem(f"{RECORD}: {p.place}", p.message) for p in notes.problems)


def _check_request(place: str, request: KeptRequest, record: Record, notes: Notes) -> None:
    if not _is_one_of(request.attempt, record.attempts):
        notes.refuse(f"{place}.attempt", "is not one of the attempts")
    is_decided = any(given.decides and given.state == "taken" for given in request.responses)
    if request.status == "pending" and is_decided:
        notes.refuse(f"{place}.status", "is pending, but it was decided")
    if not all(_is_one_of(number, record.artifacts) for number in request.artifacts):
        notes.refuse(f"{place}.artifacts", "are not among the artifacts")
    if not _is_one_of(request.snapshot, record.snapshots):
        notes.refuse(f"{place}.snapshot", "is not one of the snapshots")


def _is_one_of(number: int | None, values: Sequence[object]) -> bool:
    return number is None or number < len(values)


def contents_of(folder: Path, record: Record) -> dict[str, bytes]:
    """The kept files by their hash; none at all when their folder was left behind."""
    names = (artifact.sha256 for artifact in record.artifacts)
    return _by_hash(folder, KEPT_FILES, names, most=LARGEST)


def code_of(folder: Path, record: Record) -> dict[str, bytes]:
    """What snapshots list and keep of each file, in the same way."""
    names = [snapshot.listing for snapshot in record.snapshots]
    listings = _by_hash(folder, KEPT_CODE, names, most=MOST_BYTES)
    _refuse_wrong({name: archive.problems_of_listing(text) for name, text in listings.items()})
    named = {part: None for text in listings.values() for part in archive.parts_in(text)}
    kept = _by_hash(folder, KEPT_CODE, named, most=MOST_BYTES)
    broken = [Problem("", "is not what is kept of a changed file")]
    _refuse_wrong({name: () if parts.is_whole(raw) else broken for name, raw in kept.items()})
    return {**listings, **kept}


def _refuse_wrong(found: Mapping[str, Sequence[Problem]]) -> None:
    problems = [
        Problem(f"{KEPT_CODE}/{name}{f': {wrong.place}' if wrong.place else ''}", wrong.message)
        for name, several in found.items()
        for wrong in several
    ]
    if problems:
        raise Invalid(problems)


def _by_hash(folder: Path, below: str, names: Iterable[str], *, most: int) -> dict[str, bytes]:
    if not (folder / below).is_dir():
        return {}
    found: dict[str, bytes] = {}
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        place = f"{below}/{name}"
        try:
            found[name] = read_plain(folder / place, most=most)
        except Invalid as error:
            problems += [Problem(place, problem.message) for problem in error.problems]
        else:
            if hashlib.sha256(found[name]).hexdigest() != name:
                problems.append(Problem(place, "is not what its name says"))
    if problems:
        raise Invalid(problems)
    return found


def fields_of(run: KeptRun, project: Project) -> dict[str, object]:
    """The columns of a run that its documents cannot tell."""
    return {
        **run.model_dump(mode="json", exclude={"batch"}),
        "batch": _batch(run.batch, project) if run.batch else None,
    }


def _batch(kept: KeptBatch, project: Project) -> Batch:
    batch, _ = Batch.objects.select_related("project").get_or_create(
        batch_id=kept.batch_id,
        defaults={**kept.model_dump(exclude={"batch_id"}), "project": project},
    )
    if batch.project != project:
        raise Refused(f"The batch {batch.batch_id} already exists, in {batch.project.name}.")
    return batch


def restore(
    run: Run, record: Record, contents: Mapping[str, bytes], code: Mapping[str, bytes]
) -> list[Problem]:
    """Attempts, revisions and requests of a run that was just made; tells what was left out."""
    attempts = [
        StepAttempt(
            run=run,
            **attempt.model_dump(include={"queued_at", "started_at", "finished_at"}),
            **attempt.model_dump(mode="json", exclude={"queued_at", "started_at", "finished_at"}),
            **counting.columns(_usage(attempt.usage)),
        )
        for attempt in record.attempts
    ]
    for attempt in attempts:
        attempt.save(force_insert=True)
        counting.add(run, _usage(attempt.usage))
    for asked in (asked for request in record.requests for asked in request.thread):
        counting.add(run, _usage(asked.usage))
    run.save(update_fields=counting.COLUMNS)
    revisions = [
        _revision(run, artifact, attempts, contents.get(artifact.sha256))
        for artifact in record.artifacts
    ]
    told = [snapshot.model_dump() for snapshot in record.snapshots] if code else []
    snapshots = archive.restore(run, told, code)
    notes = Notes()
    for request in record.requests:
        seen = None if request.snapshot is None or not code else snapshots[request.snapshot]
        _request(run, request, attempts, revisions, seen, notes)
    return notes.warnings


def _usage(told: object) -> dict[str, object]:
    return told if isinstance(told, dict) else {}


def _revision(
    run: Run, kept: KeptArtifact, attempts: Sequence[StepAttempt], content: bytes | None
) -> Artifact | None:
    if content is None:
        return None
    return run.revisions.create(
        attempt=None if kept.attempt is None else attempts[kept.attempt],
        content=content,
        **kept.model_dump(exclude={"attempt"}),
    )


def _request(
    run: Run,
    kept: KeptRequest,
    attempts: Sequence[StepAttempt],
    revisions: Sequence[Artifact | None],
    seen: CodeSnapshot | None,
    notes: Notes,
) -> None:
    times = {"requested_at", "ranked_at", "closed_at"}
    others = {"attempt", "artifacts", "comment", "responses", "snapshot", "thread"}
    request = FeedbackRequest(
        run=run,
        project_id=run.project_id,
        attempt=None if kept.attempt is None else attempts[kept.attempt],
        snapshot=seen,
        **kept.model_dump(include=times),
        **kept.model_dump(mode="json", exclude=times | others),
    )
    given = [answer for answer in kept.responses if answer.state != "held"]
    if len(given) < len(kept.responses):
        # Nobody here knows whether its author would have undone it: the question is open again.
        request.status, request.closed_at = RequestStatus.PENDING, None
        notes.warn(RECORD, f"the answer to {kept.request_id} could still be undone and was skipped")
    request.save(force_insert=True)
    shown = [revision for number in kept.artifacts if (revision := revisions[number])]
    if shown:
        request.artifacts.set(shown)
    for answer in given:
        times = {"held_until", "received_at"}
        request.responses.create(
            project_id=run.project_id,
            **answer.model_dump(include=times),
            **answer.model_dump(mode="json", exclude=times),
            imported=True,
        )
    for inquiry in kept.thread:
        times = {"asked_at", "answered_at"}
        request.inquiries.create(
            **inquiry.model_dump(include=times), **inquiry.model_dump(mode="json", exclude=times)
        )
    if kept.comment and _is_on_its_issue(kept.comment, run):
        _comment(request, kept.comment)


def _is_on_its_issue(kept: KeptComment, run: Run) -> bool:
    """Whether a comment may be ours to edit: only on the run's own issue."""
    place = Place(
        tracker=kept.tracker,
        repository=kept.repository,
        issue=kept.issue,
        is_merge_request=kept.is_merge_request,
    )
    is_there = place.repository.casefold() == run.project.tracked_as.casefold()
    is_on_it = run.project.tracker in ("", place.tracker)
    return is_there and is_on_it and run.work_id in place.work_ids


def _comment(request: FeedbackRequest, kept: KeptComment) -> None:
    """The comment that shows the request stays its comment: it is edited, not posted again."""
    Delivery.objects.create(
        kind=Delivery.Kind.REQUEST,
        mark=request.request_id,
        request=request,
        run=request.run,
        is_due=False,
        **kept.model_dump(),
    )
