"""How much a run may put up with before it asks."""

from collections.abc import Mapping

from runs.domain.responses.results import Result
from runs.domain.responses.severity import Severity, severity_of
from runs.domain.workflow.definition import Autonomy, AutonomyLevel, CheckIn, Tolerance

_GRAVITY: Mapping[str, int] = {Severity.LOW: 1, Severity.MEDIUM: 2, Severity.HIGH: 3}
_ALLOWANCE: Mapping[str, int] = {
    Tolerance.NONE: 0,
    Tolerance.LOW: 1,
    Tolerance.MEDIUM: 2,
    Tolerance.HIGH: 3,
}


def exceeds(severity: str, tolerance: str) -> bool:
    """An unknown severity counts as medium, an unknown tolerance as low."""
    return _GRAVITY.get(severity, 2) > _ALLOWANCE.get(tolerance, 1)


def over_limit(count: int, limit: int | None) -> bool:
    """Whether the limit is reached: the 50th warning of 50 already is too many."""
    return limit is not None and count >= limit


def warnings_exceed(result: Result, autonomy: Autonomy) -> bool:
    """Whether a warning is graver than the workflow itself says it tolerates."""
    tolerance = autonomy.warning_tolerance
    if tolerance is None:
        return False
    return any(
        exceeds(result.severities.get(text) or severity_of(text), tolerance)
        for text in result.warnings
    )


def check_in_due(autonomy: Autonomy, *, phase_ends: bool, workflow_ends: bool) -> bool:
    """Whether to check in after a step; only a workflow that says how often ever does."""
    if autonomy.check_in_frequency is None or autonomy.level is AutonomyLevel.AUTONOMOUS:
        return False
    due = {
        CheckIn.PER_STEP: True,
        CheckIn.PER_PHASE: phase_ends,
        CheckIn.END_ONLY: workflow_ends,
    }
    return due[autonomy.check_in_frequency]
