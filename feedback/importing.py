"""Takes a run directory in as a run of this site."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import DataError, transaction

from feedback import asking
from feedback.domain.past_requests import Answer, Request
from feedback.domain.retelling import Standing, retell
from feedback.domain.run_directory import EventFound, Metadata, PhaseFound, State, T, read
from feedback.models import FeedbackRequest
from feedback.shapes import option_shape
from runs.domain.errors import Invalid, NotFound, Problem, Refused
from runs.domain.events import ALIASES, chain
from runs.domain.ids import make_run_id
from runs.domain.notes import Notes
from runs.domain.phases import Phase
from runs.models import Event, Project, Run
from runs.terminal.inputs import parse_json, read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """An event as it was read, and the document that is kept of it."""

    found: EventFound
    document: dict[str, object]


def take_in(folder: Path) -> Run:
    """Import one run, with its history and its requests; raises Invalid with every problem."""
    base = _run_folder(folder)
    notes = Notes()
    state = _document(base / "state.json", State, notes)
    metadata = _document(base / "metadata.json", Metadata, notes)
    events = _events(base / "events", notes)
    if notes.problems or state is None or metadata is None:
        raise Invalid(notes.problems)
    standing = retell(state, metadata, [told.found for told in events])
    try:
        with transaction.atomic():
            _check_unknown(state, standing)
            run = _run(state, metadata, standing)
            _keep_events(run, events)
            for request in standing.requests:
                _keep_request(run, request)
    except DataError as error:  # PostgreSQL keeps no NUL
        why = str(error).partition("\n")[0]
        raise Invalid([Problem(str(base), f"cannot be stored: {why}")]) from error
    return run


def _run_folder(folder: Path) -> Path:
    """The folder itself when it is a run's, else the one run that lies below it."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    if any((folder / name).exists() for name in ("state.json", "metadata.json", "events")):
        return folder
    below = [path.parent for path in sorted(folder.glob("*/*/*/state.json"))]
    if len(below) != 1:
        found = f"holds {len(below)} runs; name one" if below else "holds no run"
        raise Invalid([Problem(str(folder), found)])
    return below[0]


def _document(file: Path, kind: type[T], notes: Notes) -> T | None:
    found = _read(file, file.name, notes)
    if found is None:
        return None
    value, problems = read(kind, found[0])
    notes.problems.extend(_placed(file.name, problem) for problem in problems)
    return value


def _events(folder: Path, notes: Notes) -> list[_Told]:
    if not folder.is_dir():
        notes.refuse("events", "is missing")
        return []
    told = []
    for file in sorted(folder.glob("*.json")):
        place = f"events/{file.name}"
        if (found := _read(file, place, notes)) is None:
            continue
        text, document = found
        event, problems = read(EventFound, text)
        notes.problems.extend(_placed(place, problem) for problem in problems)
        if event and isinstance(document, dict):
            _check_name(file, event, notes)
            told.append(_Told(found=event, document=document))
    told.sort(key=lambda one: one.found.event_id)
    _check_numbers([one.found.event_id for one in told], notes)
    return told


def _read(file: Path, place: str, notes: Notes) -> tuple[str, object] | None:
    try:
        text = read_text(str(file))
    except NotFound:
        notes.refuse(place, "is missing or cannot be read")
        return None
    except Invalid as error:
        notes.problems.extend(Problem(place, problem.message) for problem in error.problems)
        return None
    try:
        return text, parse_json(text)
    except Invalid as error:
        notes.problems.extend(_placed(place, problem) for problem in error.problems)
        return None


def _placed(place: str, problem: Problem) -> Problem:
    return Problem(": ".join(filter(None, [place, problem.place])), problem.message)


def _check_name(file: Path, event: EventFound, notes: Notes) -> None:
    number = file.name.partition("-")[0]
    if number.isdecimal() and int(number) != event.event_id:
        notes.refuse(f"events/{file.name}", f"holds event {event.event_id}")


def _check_numbers(numbers: Sequence[int], notes: Notes) -> None:
    """A history with a gap cannot be told from one that somebody shortened."""
    if notes.problems:
        return  # an unreadable event is not a missing one
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            what = "is there twice" if number < expected else "is missing"
            notes.refuse("events", f"event {min(number, expected)} {what}")
            return


def _check_unknown(state: State, standing: Standing) -> None:
    uuid = state.run_id.rpartition("/")[2]
    if Run.objects.filter(uuid=uuid).exists():
        raise Refused(f"The run {state.run_id} is already here.")
    names = [request.request_id for request in standing.requests]
    known = FeedbackRequest.objects.filter(request_id__in=names).select_related("run").first()
    if known:
        raise Refused(f"The request {known.request_id} is already here, of {known.run.run_id}.")


def _run(state: State, metadata: Metadata, standing: Standing) -> Run:
    ended = state.completed_at or state.cancelled_at or state.updated_at
    rerun_of = metadata.relationships.rerun_of
    return Run.objects.create(
        uuid=UUID(state.run_id.rpartition("/")[2]),
        run_id=state.run_id,
        project=_project(state.run_id, metadata.project),
        work_id=metadata.work_id or "",
        target=metadata.target or "",
        workflow_id=metadata.workflow_id,
        workflow_ref=metadata.workflow_id,
        autonomy=metadata.autonomy.value,
        workspace=metadata.workspace or str(metadata.environment.get("working_directory", "")),
        prompt=metadata.additional_instructions or "",
        inputs=metadata.inputs,
        phases=[phase.value for phase in metadata.phases],
        plan=standing.plan.dump(),
        plan_hash=standing.plan.digest,
        status=state.status.value,
        position=standing.position,
        entered_phase=standing.entered_phase,
        approvals=dict(standing.approvals),
        retry_count=state.phases.get(Phase.EVALUATE, PhaseFound()).retry_count,
        artifacts=state.artifacts,
        error=standing.error,
        started_by=metadata.created_by,
        environment=metadata.environment,
        rerun_of=Run.objects.filter(run_id=rerun_of).first() if rerun_of else None,
        created_at=metadata.created_at,
        updated_at=state.updated_at,
        completed_at=ended if state.status.is_final else state.completed_at,
    )


def _project(run_id: str, named: str | None) -> Project:
    uuid = UUID(run_id.rpartition("/")[2])
    fits = named is not None and named.count("/") == 1 and make_run_id(named, uuid) == run_id
    name = named if named and fits else run_id.rpartition("/")[0]
    known = Project.objects.filter(name__iexact=name).first()
    return known or Project.objects.create(name=name)


def _keep_events(run: Run, events: Sequence[_Told]) -> None:
    """Rows as the history itself would write them, chained anew."""
    rows = []
    for told in events:
        event = told.found
        run.last_event_id = event.event_id
        run.last_event_at = max(event.timestamp, run.last_event_at or event.timestamp)
        run.last_event_hash = chain(run.last_event_hash, told.document)
        rows.append(
            Event(
                run=run,
                number=event.event_id,
                type=ALIASES.get(event.type, event.type),
                timestamp=event.timestamp,
                phase=event.phase or "",
                step=event.step or "",
                document=told.document,
                hash=run.last_event_hash,
            )
        )
    Event.objects.bulk_create(rows, batch_size=500)
    run.save(update_fields=["last_event_id", "last_event_at", "last_event_hash"])


def _keep_request(run: Run, request: Request) -> None:
    question, point = request.question, request.point
    row = FeedbackRequest(
        request_id=request.request_id,
        run=run,
        type=question.type.value,
        gate=question.gate.value,
        gate_key=request.gate_key,
        prompt=question.prompt,
        options=[option_shape(option) for option in question.options],
        context=dict(question.context),
        phase=point.phase.value if point else "",
        step=point.step if point else "",
        step_index=point.step_index if point else None,
        reviewers=list(question.reviewers),
        quorum=question.quorum,
        shown_on_cli=request.shown_on_cli,
        requested_at=request.requested_at,
    )
    if request.is_pending:
        row.seal = asking.seal_of(row, (), run.plan_hash)
    else:
        row.status = FeedbackRequest.Status.ANSWERED
        row.closed_at = request.answers[-1].received_at
    row.save(force_insert=True)
    for answer in request.answers:
        _keep_answer(row, answer)


def _keep_answer(request: FeedbackRequest, answer: Answer) -> None:
    # Without a seal: nobody here knows what its author saw.
    request.responses.create(
        response=answer.response,
        action=answer.action.value,
        comment=answer.comment,
        decides=answer.decides,
        identity=answer.identity[:250],
        provided_by=answer.provided_by,
        received_at=answer.received_at,
    )
