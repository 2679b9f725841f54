"""What a run puts up with before it asks."""

import pytest

from runs.domain.planning.autonomy import (
    check_in_due,
    exceeds,
    over_limit,
    warnings_exceed,
)
from runs.domain.responses.results import Result, ResultStatus, read_response
from runs.domain.responses.severity import Severity
from runs.domain.workflow.definition import Autonomy, AutonomyLevel, CheckIn, Tolerance


@pytest.mark.parametrize(
    ("severity", "tolerance", "stops"),
    [
        ("low", "low", False),
        ("medium", "low", True),
        ("high", "low", True),
        ("low", "none", True),
        ("medium", "medium", False),
        ("high", "medium", True),
        ("high", "high", False),
    ],
)
def test_only_what_is_graver_than_the_tolerance_stops(
    severity: str, tolerance: str, stops: bool
) -> None:
    assert exceeds(severity, tolerance) is stops


def test_an_unknown_severity_counts_as_medium() -> None:
    assert exceeds("odd", "low")
    assert not exceeds("odd", "medium")


def test_an_unknown_tolerance_counts_as_low() -> None:
    assert not exceeds("low", "odd")
    assert exceeds("medium", "odd")


@pytest.mark.parametrize(
    ("count", "limit", "over"),
    [(49, 50, False), (50, 50, True), (51, 50, True), (1000, None, False)],
)
def test_the_warning_that_reaches_the_limit_is_already_too_many(
    count: int, limit: int | None, over: bool
) -> None:
    assert over_limit(count, limit) is over


def with_warnings(*texts: str) -> Result:
    return Result(status=ResultStatus.WARNING, message="Built.", warnings=texts)


@pytest.mark.parametrize(
    ("tolerance", "texts", "stops"),
    [
        (Tolerance.LOW, ("Line too long",), False),
        (Tolerance.LOW, ("Line too long", "Memory leak"), True),
        (Tolerance.MEDIUM, ("Memory leak",), False),
        (Tolerance.MEDIUM, ("SQL injection vulnerability",), True),
        (Tolerance.NONE, ("Line too long",), True),
        (Tolerance.NONE, (), False),
    ],
)
def test_one_warning_graver_than_tolerated_is_enough(
    tolerance: Tolerance, texts: tuple[str, ...], stops: bool
) -> None:
    autonomy = Autonomy(warning_tolerance=tolerance)

    assert warnings_exceed(with_warnings(*texts), autonomy) is stops


def test_without_a_tolerance_of_its_own_a_workflow_tolerates_every_warning() -> None:
    result = with_warnings("Critical security vulnerability")

    assert not warnings_exceed(result, Autonomy(level=AutonomyLevel.DRY_RUN))


def test_a_severity_the_step_gave_wins_over_the_words() -> None:
    warnings = [{"text": "The prettifier failed", "severity": "low"}]
    document = {"status": "warning", "message": "Built.", "warnings": warnings}

    result = read_response(document, step="build:implement")

    assert result.severities == {"The prettifier failed": Severity.LOW}
    assert not warnings_exceed(result, Autonomy(warning_tolerance=Tolerance.LOW))


@pytest.mark.parametrize(
    ("frequency", "phase_ends", "workflow_ends", "due"),
    [
        (None, True, True, False),
        (CheckIn.PER_STEP, False, False, True),
        (CheckIn.PER_PHASE, False, False, False),
        (CheckIn.PER_PHASE, True, False, True),
        (CheckIn.END_ONLY, True, False, False),
        (CheckIn.END_ONLY, True, True, True),
    ],
)
def test_a_check_in_is_due_where_the_workflow_says(
    frequency: CheckIn | None, phase_ends: bool, workflow_ends: bool, due: bool
) -> None:
    autonomy = Autonomy(check_in_frequency=frequency)

    assert check_in_due(autonomy, phase_ends=phase_ends, workflow_ends=workflow_ends) is due


@pytest.mark.parametrize("frequency", CheckIn)
def test_an_autonomous_run_never_checks_in(frequency: CheckIn) -> None:
    autonomy = Autonomy(level=AutonomyLevel.AUTONOMOUS, check_in_frequency=frequency)

    assert not check_in_due(autonomy, phase_ends=True, workflow_ends=True)
