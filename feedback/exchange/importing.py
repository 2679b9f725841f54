"""Takes a run directory in as a run of this site."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from feedback.exchange import restore
from feedback.exchange.directories import Directory, EventRead, read_directory, runs_below
from feedback.exchange.past_requests import PastAnswer, Request
from feedback.exchange.record_reader import Record
from feedback.exchange.run_directory import Metadata, PhaseFound
from feedback.exchange.standing import RunStanding, check_identity, retell
from feedback.models import FeedbackRequest
from feedback.requests import recorded
from feedback.requests.asker import WEIGHT_OF_A_STEP, round_of
from feedback.requests.request_json import option_shape
from feedback.requests.seal import seal_of
from runs.domain.planning import titles
from runs.domain.values.errors import FaberError, Invalid, Problem, Refused
from runs.domain.values.events import ALIASES, chain
from runs.domain.values.ids import make_run_id
from runs.domain.values.phases import Phase
from runs.domain.values.status import RequestStatus
from runs.domain.values.text import one_line
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import Notes
from runs.engine import history
from runs.engine.concealing import concealed
from runs.models import Event, Project, Run
from runs.record import foreign_keys, state_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A run that was taken in, and where its documents disagreed; or why it was not."""

    folder: Path
    run: Run | None = None
    notes: Sequence[Problem] = ()
    error: FaberError | None = None


def take_in_all(folder: Path) -> list[Imported]:
    """Every run below a folder, each on its own: one that is refused keeps none of the others."""
    folders = runs_below(folder)
    if not folders:
        raise Invalid([Problem(str(folder), "contains no run")])
    return [_attempted(each, place) for each, place in folders.items()]


def _attempted(folder: Path, place: str) -> Imported:
    try:
        return take_in(folder, place=place)
    except FaberError as error:
        return Imported(folder=folder, error=error)


def take_in(folder: Path, *, place: str = "") -> Imported:
    """Import one run, with its history and its requests; raises Invalid with every problem."""
    found = read_directory(folder, place=place)
    with storing(folder):
        if found.record and found.metadata.plan:
            run, notes = _restored(found, found.record, found.metadata.plan)
            return Imported(folder=folder, run=run, notes=[*found.notes, *notes])
        standing = retell(found.state, found.metadata, [told.found for told in found.events])
        run = make_run(found, standing, **_resting(found))
        carry_along(run, found)
    return Imported(folder=folder, run=run, notes=[*found.notes, *standing.notes])


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """One transaction; what the database refuses is wrong with the directory."""
    try:
        with transaction.atomic():
            yield
    except (DataError, IntegrityError) as error:
        why = str(error).partition("\n")[0]
        raise Invalid([Problem(str(folder), f"can't be stored: {why}")]) from error


def make_run(found: Directory, standing: RunStanding, **fields: object) -> Run:
    """The rows of a run as its directory tells it, in the caller's transaction."""
    check_unknown(found, [request.request_id for request in standing.requests])
    project = project_of(found)
    run = Run.objects.create(
        **{**_plain_fields(found, project), **standing_fields(found, standing), **fields}
    )
    keep_events(run, found.events)
    for request in standing.requests:
        keep_request(run, request)
    return run


def _resting(found: Directory) -> dict[str, object]:
    """What keeps a run that came with a directory from doing anything by itself."""
    return {"imported_at": timezone.now(), "on_hold": not found.state.status.is_final}


def _restored(found: Directory, record: Record, plan: Plan) -> tuple[Run, list[Problem]]:
    """A run that a site of ours exported, with everything it had on record there."""
    notes = Notes()
    check_identity(found.state, found.metadata, [told.found for told in found.events], notes)
    if notes.problems:
        raise Invalid(notes.problems)
    restore.check(record, plan)
    contents = restore.contents_of(found.folder, record)
    code = restore.code_of(found.folder, record)
    check_unknown(found, [request.request_id for request in record.requests])
    project = project_of(found)
    told = {"plan": plan.dump(), "plan_hash": plan.digest, **_moving_fields(found)}
    run = Run.objects.create(
        **{
            **_plain_fields(found, project),
            **told,
            **restore.fields_of(record.run, project),
            **_resting(found),
        }
    )
    keep_events(run, found.events)
    left_out = restore.restore(run, record, contents, code)
    carry_along(run, found)
    return run, left_out


def carry_along(run: Run, found: Directory) -> None:
    """Keep what the documents say and no row has a place for."""
    run.carried = {}
    run.carried = foreign_keys.left_over(
        state=dict(found.raw_state),
        metadata=dict(found.raw_metadata),
        rendered_state=state_json.state_of(run),
        rendered_metadata=state_json.metadata_of(run),
    )
    run.save(update_fields=["carried"])
    recorded.whole(run)


def check_unknown(found: Directory, request_ids: Sequence[str]) -> None:
    run_id = found.state.run_id
    if Run.objects.filter(uuid=run_id.rpartition("/")[2]).exists():
        raise Refused(f"The run {run_id} already exists.")
    check_new(*request_ids)


def check_new(*request_ids: str) -> None:
    asked = FeedbackRequest.objects.filter(request_id__in=request_ids)
    if known := asked.values_list("request_id", "run__run_id").first():
        raise Refused(f"The request {known[0]} already exists, in {known[1]}.")


def _plain_fields(found: Directory, project: Project) -> dict[str, object]:
    """What the documents say plainly and nothing changes afterwards."""
    run_id, metadata = found.state.run_id, found.metadata
    rerun_of = metadata.relationships.rerun_of
    return {
        "uuid": UUID(run_id.rpartition("/")[2]),
        "run_id": run_id,
        "project": project,
        "work_id": metadata.work_id or "",
        "target": metadata.target or "",
        "own_title": titles.cleaned(metadata.target or "", concealed),
        "workflow_id": metadata.workflow_id,
        "workflow_ref": metadata.workflow_id,
        "autonomy": metadata.autonomy.value,
        "workspace": _workspace(metadata),
        "prompt": metadata.additional_instructions or "",
        "inputs": metadata.inputs,
        "phases": [phase.value for phase in metadata.phases],
        "started_by": metadata.created_by,
        "environment": metadata.environment,
        "rerun_of": Run.objects.filter(run_id=rerun_of).first() if rerun_of else None,
        "created_at": metadata.created_at,
    }


def _moving_fields(found: Directory) -> dict[str, object]:
    """What the state says plainly."""
    state = found.state
    updated = state.updated_at or found.metadata.created_at
    ended = state.completed_at or state.cancelled_at or updated
    return {
        "status": state.status.value,
        "retry_count": state.phases.get(Phase.EVALUATE, PhaseFound()).retry_count,
        "artifacts": state.artifacts,
        "updated_at": updated,
        "completed_at": ended if state.status.is_final else state.completed_at,
    }


def standing_fields(found: Directory, standing: RunStanding) -> dict[str, object]:
    """What changes while a run goes on, as its directory tells it now."""
    return {
        **_moving_fields(found),
        "plan": standing.plan.dump(),
        "plan_hash": standing.plan.digest,
        "position": standing.position,
        "entered_phase": standing.entered_phase,
        "approvals": dict(standing.approvals),
        "error": standing.error,
    }


def _workspace(metadata: Metadata) -> str:
    told = str(metadata.workspace or metadata.environment.get("working_directory") or "")[:1000]
    # A path that is not full has no meaning here: rows keep so what lies in the data directory.
    return told if told.startswith("/") else ""


def project_of(found: Directory) -> Project:
    run_id, named = found.state.run_id, found.metadata.project
    uuid = UUID(run_id.rpartition("/")[2])
    fits = named is not None and named.count("/") == 1 and make_run_id(named, uuid) == run_id
    name = named if named and fits else run_id.rpartition("/")[0]
    known = Project.objects.filter(name__iexact=name).first()
    return known or Project.objects.create(name=name)


def keep_events(run: Run, events: Sequence[EventRead]) -> None:
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
    run.told_elsewhere = run.last_event_id
    run.head_code = history.head_code(run)
    run.save(
        update_fields=[
            *("last_event_id", "last_event_at", "last_event_hash", "told_elsewhere", "head_code")
        ]
    )


def keep_request(run: Run, request: Request) -> FeedbackRequest:
    question, point = request.question, request.point
    behind = sum(1 for later in run.frozen_plan.units[run.position :] if not later.is_hook)
    row = FeedbackRequest(
        request_id=request.request_id,
        run=run,
        project_id=run.project_id,
        type=question.type.value,
        gate=question.gate.value,
        gate_key=request.gate_key,
        prompt=question.prompt,
        own_title=one_line(question.title, titles.LONGEST),
        max_rounds=question.max_rounds,
        options=[option_shape(option) for option in question.options],
        context=dict(question.context),
        phase=point.phase.value if point else "",
        step=point.step if point else "",
        step_index=point.step_index if point else None,
        reviewers=list(question.reviewers) or run.project.reviewers,
        quorum=question.quorum,
        quorum_groups=dict(question.quorum_groups),
        shown_on_cli=request.shown_on_cli,
        requested_at=request.requested_at,
        ranked_at=request.requested_at,
    )
    row.round = round_of(run, row.phase, row.step, row.gate)
    if request.is_pending:
        row.steps_behind, row.ranked_at = behind, row.requested_at - behind * WEIGHT_OF_A_STEP
        row.seal = seal_of(row, (), run.plan_hash)
    else:
        row.status = RequestStatus.ANSWERED
        row.closed_at = request.answers[-1].received_at
    row.save(force_insert=True)
    for answer in request.answers:
        keep_answer(row, answer)
    return row


def keep_answer(request: FeedbackRequest, answer: PastAnswer) -> None:
    # Without a seal: nobody here knows what its author saw.
    request.responses.create(
        project_id=request.run.project_id,
        response=answer.response,
        action=answer.action.value,
        comment=answer.comment,
        decides=answer.decides,
        identity=answer.identity[:250],
        provided_by=answer.provided_by,
        received_at=answer.received_at,
        imported=True,
    )
