"""What each answer to a request would cause, read from the frozen plan of its run."""

from dataclasses import replace

from feedback.models import FeedbackRequest
from runs.domain.planning.preview import Outlook, Standing, foresee
from runs.domain.responses.results import read_response
from runs.domain.values.questions import Action, Gate
from runs.domain.values.status import RunStatus
from runs.engine import new_run
from runs.workflow_files import ask_only


def standing_of(asked: FeedbackRequest) -> Standing | None:
    """Where the run stands, while it stands where it asked and is executed here."""
    run, attempt = asked.run, asked.attempt
    if run.state is not RunStatus.AWAITING_FEEDBACK or run.unit is None or run.is_foreign:
        return None  # what follows is known only to whoever executes it
    if run.plan_hash == ask_only.plan().digest:
        return None  # what follows is up to the program that asks
    response = attempt.response if attempt else None
    return Standing(
        plan=run.frozen_plan,
        at=run.position,
        gate=Gate(asked.gate),
        gate_key=asked.gate_key,
        facts=run.facts,
        result=read_response(response, step=attempt.key) if attempt and response else None,
    )


def foreseen(asked: FeedbackRequest, here: Standing | None, action: Action) -> Outlook | None:
    if here is None:
        return None
    outlook = foresee(here, action)
    if outlook.asks is None or outlook.asks_at is None:
        return outlook
    return replace(outlook, asks=new_run.filled(outlook.asks, asked.run, outlook.asks_at))
