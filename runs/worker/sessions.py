"""The sessions of a run's agents: where one can go on, and what was counted for each."""

from collections import defaultdict
from collections.abc import Mapping

from runs.domain.responses import usage
from runs.models import Run, StepAttempt
from runs.ports import asker


def of_step(attempt: StepAttempt, kind: str) -> str:
    """Where an agent of this kind executed the step before, so that it can go on there."""
    if attempt.number == 1:
        return ""
    before = StepAttempt.objects.filter(
        run=attempt.run, phase=attempt.phase, step=attempt.step, number__lt=attempt.number
    )
    known = before.exclude(session="").order_by("-number").values_list("session", "usage")
    return next((session for session, used in known if (used or {}).get("agent") == kind), "")


def counted(run: Run) -> dict[str, dict[str, float]]:
    """What attempts and answers to reviewers told, by session."""
    attempts = StepAttempt.objects.filter(run=run).exclude(session="")
    told: defaultdict[str, list[Mapping[str, object] | None]] = defaultdict(list)
    for session, used in (*attempts.values_list("session", "usage"), *asker().answered_in(run)):
        told[session].append(used)
    return {session: usage.total(usages) for session, usages in told.items()}
