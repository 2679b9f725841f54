"""The calls about runs."""

from typing import Annotated

from ninja import Header, Query, Router, Status

from runs import context, engine
from runs.accounts import membership
from runs.api import idempotency, paging, wishes
from runs.api.auth import ApiRequest
from runs.api.schemas import (
    AddEvent,
    CancelRun,
    Events,
    RerunRun,
    RunJson,
    Runs,
    StartedRunJson,
    StartRun,
    VerdictJson,
    answers,
)
from runs.context import reader
from runs.domain.values.errors import Invalid, NotFound, Problem, Refused
from runs.domain.values.status import RunStatus
from runs.engine import conformance, starting, work_events
from runs.engine.find import find_run
from runs.engine.work_events import WorkEvent
from runs.models import Event, Run
from runs.pages.lists import listing
from runs.record import run_json, state_json
from runs.workspaces.agents import missing_for_run

Json = dict[str, object]

router = Router(tags=["runs"])

MOST_EVENTS = 1000
IdempotencyHeader = Annotated[
    str,
    Header("", alias="Idempotency-Key", max_length=idempotency.LONGEST),
]
Limit = Annotated[int, Query(paging.USUAL, ge=1, description="At most 200.")]
Cursor = Annotated[str, Query("", description="The `next_cursor` of the previous page.")]
PackageNumber = Annotated[
    int | None, Query(None, ge=1, le=2**31 - 1, description="Packages count from 1.")
]


@router.post(
    "/runs",
    response=answers({201: StartedRunJson}, 409),
    operation_id="startRun",
    summary="Start a run",
)
def start_run(
    request: ApiRequest, body: StartRun, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """Reviewers and operators start workflows known to the project; an own definition, or a
    workspace that no project registered, needs an operator's token."""

    def work() -> tuple[int, Json]:
        run = _started(request, body)
        return 201, {**run_json.run_shape(run), "warnings": missing_for_run(run)}

    return idempotency.once(request, work)


def _started(request: ApiRequest, body: StartRun) -> Run:
    wish = wishes.wish_of(body, request.auth.actor)
    try:
        return starting.start(wish, request.auth.actor)[0]
    except starting.NoSuchProject:
        raise
    except NotFound as error:
        unknown = Invalid([Problem("workflow", str(error))])
        raise starting.all_that_is_wrong(unknown, wish) from error


@router.get(
    "/runs",
    response=answers({200: Runs}),
    operation_id="listRuns",
    summary="List runs, newest first",
)
def list_runs(
    request: ApiRequest,
    *,
    limit: Limit,
    cursor: Cursor,
    status: RunStatus | None = None,
    project: str = "",
    work_id: str = "",
    q: str = "",
) -> Json:
    wanted = listing.RunFilter(
        text=q.strip()[:250],
        status=status.value if status else "",
        sight=membership.sight_of(request.auth.actor),
    )
    is_all = bool(cursor or project or work_id)
    runs = listing.found(wanted, is_all=is_all).select_related("project")
    if project:
        runs = runs.filter(project__name__iexact=project)
    if work_id:
        runs = runs.filter(work_id=work_id)
    page = paging.paged(runs, by="created_at", newest_first=True, limit=limit, cursor=cursor)
    return {"items": run_json.run_shapes(page.items), "next_cursor": page.next_cursor}


@router.get(
    "/runs/{path:run_id}/state",
    response=answers({200: Json}, 404, 409),
    operation_id="getRunState",
    summary="A run's state.json",
)
def run_state(request: ApiRequest, run_id: str) -> Json:
    return state_json.state_of(find_run(run_id, seen_by=request.auth.actor))


@router.get(
    "/runs/{path:run_id}/events",
    response=answers({200: Events}, 404, 409),
    operation_id="listRunEvents",
    summary="A run's history, oldest event first",
)
def run_events(
    request: ApiRequest,
    run_id: str,
    after: Annotated[int, Query(0, ge=0, le=2**31 - 1)],
    limit: Annotated[int, Query(500, ge=1, description="At most 1000.")],
    cursor: Annotated[int, Query(0, ge=0, le=2**31 - 1, description="The same as `after`.")],
) -> Json:
    """`next_cursor` is the number to go on `after`."""
    size = min(limit, MOST_EVENTS)
    reader = Event.objects.filter(
        run=find_run(run_id, seen_by=request.auth.actor), number__gt=max(after, cursor)
    ).order_by("number")
    rows = list(reader.values_list("number", "document")[: size + 1])
    last = str(rows[size - 1][0]) if len(rows) > size else None
    return {"items": [document for _, document in rows[:size]], "next_cursor": last}


@router.post(
    "/runs/{path:run_id}/events",
    response=answers({201: Json}, 404, 409),
    operation_id="addRunEvent",
    summary="Add a work event to a run's history",
)
def add_event(
    request: ApiRequest, run_id: str, body: AddEvent, idempotency_key: IdempotencyHeader
) -> Status[Json]:
    """For whoever does the work: a commit, a test run, a pull request. FABER's own are refused."""
    actor = request.auth.actor
    run = find_run(run_id, seen_by=actor)
    told = WorkEvent(type=body.type, message=body.message, metadata=body.metadata)
    return idempotency.once_in_transaction(
        request, lambda: (201, work_events.add(run.pk, told, actor))
    )


@router.get(
    "/runs/{path:run_id}/context",
    response=answers({200: Json}, 404, 409, 410),
    operation_id="getRunContext",
    summary="The newest context package, or another by its number",
)
def run_context(request: ApiRequest, run_id: str, package: PackageNumber) -> Json:
    """Before a step was told anything: what one would be told now."""
    run = find_run(run_id, seen_by=request.auth.actor)
    if package is not None:
        return reader.whole(run, package)
    return reader.newest(run) or context.reconstitute(state_json.read(run))


@router.get(
    "/runs/{path:run_id}/verification",
    response=answers({200: VerdictJson}, 404, 409),
    operation_id="verifyRun",
    summary="Compare executed steps with the plan",
)
def run_verification(request: ApiRequest, run_id: str) -> Json:
    return conformance.verdict_shape(
        conformance.verdict_of(find_run(run_id, seen_by=request.auth.actor))
    )


@router.post(
    "/runs/{path:run_id}/cancel",
    response=answers({200: RunJson}, 404, 409),
    operation_id="cancelRun",
    summary="Cancel a run and its open request",
)
def cancel_run(request: ApiRequest, run_id: str, body: CancelRun) -> Json:
    """For operators, and for whoever started the run; never for an agent."""
    run = find_run(run_id, seen_by=request.auth.actor)
    return run_json.run_shape(
        engine.cancel(run.pk, reason=body.reason.strip(), actor=request.auth.actor)
    )


@router.post(
    "/runs/{path:run_id}/resume",
    response=answers({200: RunJson}, 404, 409),
    operation_id="resumeRun",
    summary="Resume a stopped run from its exact step",
)
def resume_run(request: ApiRequest, run_id: str) -> Json:
    run = find_run(run_id, seen_by=request.auth.actor)
    return run_json.run_shape(engine.resume_stopped(run.pk, request.auth.actor))


@router.post(
    "/runs/{path:run_id}/rerun",
    response=answers({201: RunJson}, 404, 409),
    operation_id="rerunRun",
    summary="Rerun on the current workflow",
)
def rerun_run(
    request: ApiRequest,
    run_id: str,
    body: RerunRun = RerunRun(),  # noqa: B008
) -> Status[Json]:
    run = find_run(run_id, seen_by=request.auth.actor)
    try:
        again, _ = starting.rerun(
            run,
            request.auth.actor,
            autonomy=body.autonomy.value if body.autonomy else "",
            phases=tuple(body.phases),
            from_step=body.from_step,
        )
    except NotFound as error:
        raise Refused(f"The run's workflow no longer exists. {error}") from error
    return Status(201, run_json.run_shape(again))


# Last, because its path would take those above for part of the id.
@router.get(
    "/runs/{path:run_id}",
    response=answers({200: RunJson}, 404, 409),
    operation_id="getRun",
    summary="One run",
)
def get_run(request: ApiRequest, run_id: str) -> Json:
    """By its full id, its uuid, or the beginning of that."""
    return run_json.run_shape(find_run(run_id, seen_by=request.auth.actor))
