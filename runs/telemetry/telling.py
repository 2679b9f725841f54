"""Tells of what has ended; nothing but names, numbers and outcomes leaves the site."""

from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.domain.responses import usage
from runs.domain.responses.results import ResultStatus
from runs.executors import Outcome
from runs.models import Run, StepAttempt
from runs.telemetry.spans import FinishedSpan, SpanName


class Collector(Protocol):
    """Takes spans and neither waits nor fails."""

    def collect(self, span: FinishedSpan) -> None: ...


def is_on() -> bool:
    return bool(settings.FABER_COLLECTOR)


def environment(run: Run, attempt: StepAttempt, *, for_agent: bool) -> dict[str, str]:
    """What a step's program goes on with, should it trace as well."""
    return {"TRACEPARENT": _name(run, attempt, for_agent).traceparent} if is_on() else {}


def run_ended(run: Run) -> None:
    """Called in the transaction that ends it."""
    if not is_on():
        return
    span = FinishedSpan(
        name=SpanName(run_id=run.run_id),
        title=f"run {run.workflow_id}",
        began=run.created_at,
        ended=timezone.now(),
        has_failed=run.status == "failed",
        attributes={**_of(run), "faber.status": run.status},
    )
    transaction.on_commit(lambda: _collector().collect(span))


def step_ended(run: Run, attempt: StepAttempt, outcome: Outcome) -> None:
    if not is_on():
        return
    now = timezone.now()
    result = outcome.result.status
    _collector().collect(
        FinishedSpan(
            name=_name(run, attempt),
            title=f"step {attempt.key}",
            began=min(attempt.started_at or now, now),
            ended=now,
            has_failed=result is ResultStatus.FAILURE,
            attributes={**_of(run), **_of_step(attempt), "faber.outcome": result.value},
        )
    )


def agent_ended(run: Run, attempt: StepAttempt, outcome: Outcome, *, began: datetime) -> None:
    if not is_on():
        return
    told = outcome.usage or {}
    _collector().collect(
        FinishedSpan(
            name=_name(run, attempt, is_agent=True),
            title=f"agent {told.get('agent', 'unknown')}",
            began=began,
            ended=timezone.now(),
            has_failed=bool(outcome.exit_code) or bool(outcome.ended),
            attributes={**_of(run), **_of_step(attempt), **_cost(outcome)},
        )
    )


def _name(run: Run, attempt: StepAttempt, is_agent: bool = False) -> SpanName:
    name = f"{attempt.key}#{attempt.number}"
    return SpanName(run_id=run.run_id, attempt=name, is_agent=is_agent)


def _of(run: Run) -> dict[str, str]:
    return {
        "faber.run_id": run.run_id,
        "faber.project": run.project.name,
        "faber.workflow": run.workflow_id,
    }


def _of_step(attempt: StepAttempt) -> dict[str, str | int]:
    return {
        "faber.phase": attempt.phase,
        "faber.step": attempt.step,
        "faber.attempt": attempt.number,
    }


_NUMBERS = {
    usage.COST: "faber.agent.cost_usd",
    usage.TURNS: "faber.agent.turns",
    usage.TOKENS_IN: "gen_ai.usage.input_tokens",
    usage.TOKENS_OUT: "gen_ai.usage.output_tokens",
}


def _cost(outcome: Outcome) -> dict[str, float]:
    told = usage.counted(**(outcome.usage or {}))
    known = {name: told[key] for key, name in _NUMBERS.items() if key in told}
    ended = {} if outcome.exit_code is None else {"process.exit.code": outcome.exit_code}
    return {**known, **ended}


@cache
def _collector() -> Collector:
    return cast("Collector", import_module(settings.FABER_COLLECTOR))
