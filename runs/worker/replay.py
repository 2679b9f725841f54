"""Shows once more what the executor of an attempt was given; nothing is executed here."""

from dataclasses import dataclass

from runs.context import store
from runs.domain.values.errors import Refused
from runs.engine import Claim
from runs.executors.agents import preview
from runs.executors.launching import as_json
from runs.executors.orders import Order, Rules
from runs.models import Run
from runs.worker import advance

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    number: int  # of the package
    key: str  # "phase:step"
    attempt: int
    is_for_agent: bool
    argv: tuple[str, ...]  # empty when no program is started
    stdin: str
    briefing: Json

    def shape(self) -> Json:
        return {
            "package": self.number,
            "step": self.key,
            "attempt": self.attempt,
            "argv": list(self.argv) or None,
            "stdin": self.stdin or None,
            "briefing": self.briefing,
        }


def replay(run: Run, number: int) -> Replay:
    """What an attempt's executor got, letter by letter, of the package it was told with."""
    row = store.numbered(run, number)
    attempt = row.attempt
    claim = Claim(run=run, attempt=attempt, unit=run.frozen_plan.units[attempt.position])
    order, rules = advance.order_again(claim, store.load(row))
    argv, stdin = _launched_with(order, rules)
    return Replay(
        number=number,
        key=order.key,
        attempt=attempt.number,
        is_for_agent=order.step.is_for_agent,
        argv=argv,
        stdin=stdin,
        briefing=order.briefing,
    )


def _launched_with(order: Order, rules: Rules) -> tuple[tuple[str, ...], str]:
    step = order.step
    if step.is_for_agent:
        try:
            seen = preview(order, rules)
        except ValueError as error:
            raise Refused(str(error)) from error
        return seen.argv, seen.stdin
    if step.run:
        return tuple(step.run), as_json(order.briefing).decode()
    return (), ""
