"""The calls of executors outside: take a step, keep it, finish it."""

from ninja import Router

from runs.accounts import permissions
from runs.api.auth import ApiRequest
from runs.api.schemas import FinishStep, KeepStep, NextDecision, NextStep, answers
from runs.engine.find import find_run
from runs.models import Run
from runs.worker import remote

Json = dict[str, object]

router = Router(tags=["remote steps"])


@router.post(
    "/runs/{path:run_id}/next",
    response=answers({200: NextDecision}, 404, 409),
    exclude_unset=True,
    operation_id="nextStep",
    summary="Lease the next remote step",
)
def next_step(request: ApiRequest, run_id: str, body: NextStep = NextStep()) -> Json:  # noqa: B008
    """`execute` with a lease and a briefing, `wait` while others act, or `done`."""
    return remote.take(_acting(request, run_id), request.auth.token.name, body.lease_seconds)


@router.post(
    "/runs/{path:run_id}/finish",
    response=answers({200: NextDecision}, 404, 409),
    exclude_unset=True,
    operation_id="finishStep",
    summary="Finish a step with its response",
)
def finish_step(request: ApiRequest, run_id: str, body: FinishStep) -> Json:
    """Answers with the next decision, which may be the next step and its lease."""
    run = _acting(request, run_id)
    remote.finish(run, body.lease, dict(body.response), remote.sent_files(body.sent))
    seconds = remote.RemoteLease.named(body.lease).seconds
    return remote.take(run, request.auth.token.name, seconds)


@router.post(
    "/runs/{path:run_id}/heartbeat",
    response=answers({200: NextDecision}, 404, 409),
    exclude_unset=True,
    operation_id="keepStep",
    summary="Renew a lease",
)
def keep_step(request: ApiRequest, run_id: str, body: KeepStep) -> Json:
    """409 tells that the step is not yours any more: stop."""
    return remote.keep(_acting(request, run_id), body.lease)


def _acting(request: ApiRequest, run_id: str) -> Run:
    run = find_run(run_id, seen_by=request.auth.actor)
    permissions.check_may_act(request.auth.actor, run.project)
    return run
