"""What a start leaves out of its workflow's gates, found without a database."""

import pytest

from runs.domain.planning.bypass import Bypass, bypass_of
from runs.domain.workflow.definition import AutonomyLevel
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan

Json = dict[str, object]


def step(step_id: str, **fields: object) -> Json:
    return {"id": step_id, "run": ["true"], **fields}


def gated(**fields: object) -> Json:
    """Gates of every kind: a review, a confirmation, a step by name, a word, a phase."""
    return {
        "id": "w",
        "phases": {
            "architect": {"steps": [step("spec", requires_approval=True)]},
            "build": {
                "steps": [
                    step("drop", confirm=True),
                    step("make"),
                    step("tell", result_handling={"on_success": "prompt"}),
                ]
            },
            "release": {"steps": [step("ship")], "require_approval": True},
        },
        "autonomy": {"require_approval_for": ["build:make"], **fields},
    }


def left_out(document: Json, **chosen: object) -> Bypass:
    chain = [read_workflow(document).workflow]
    return bypass_of(make_plan(chain).plan, make_plan(chain, **chosen).plan)  # type: ignore[arg-type]


def test_a_whole_run_leaves_nothing_out() -> None:
    assert not left_out(gated())


def test_a_phase_alone_leaves_out_every_other_gate() -> None:
    found = left_out(gated(), phases=("release",))

    assert found.gates == ("architect:spec", "build:drop", "build:make", "build:tell")
    assert str(found) == "skips the gates architect:spec, build:drop, build:make, build:tell"


def test_a_step_alone_leaves_out_the_gates_around_it() -> None:
    assert left_out(gated(), step="build:make").gates == (
        *("architect:spec", "build:drop", "build:tell", "release"),
    )


def test_a_gate_that_is_still_asked_at_is_not_left_out() -> None:
    assert "release" not in left_out(gated(), phases=("release",)).gates


def test_more_freedom_than_the_workflow_gives_is_told() -> None:
    found = left_out(gated(level="assist"), autonomy=AutonomyLevel.AUTONOMOUS)

    assert (found.gates, found.above) == ((), "autonomous")
    assert str(found) == (
        "asks for more autonomy (autonomous) than the workflow allows"
        " for its gates architect:spec, build:drop, build:make, build:tell, release"
    )


def test_the_pause_that_only_assist_makes_is_left_out_by_guarded() -> None:
    document: Json = {
        "id": "w",
        "phases": {"release": {"steps": [step("ship")]}},
        "autonomy": {"level": "assist"},
    }

    assert left_out(document, autonomy=AutonomyLevel.GUARDED) == Bypass(
        gates=("release",), above="guarded"
    )


def test_gates_that_policy_would_approve_are_left_out() -> None:
    found = left_out(gated(allow_destructive_auto=True), autonomy=AutonomyLevel.AUTONOMOUS)

    assert found.gates == ("build:drop", "build:make", "release")


@pytest.mark.parametrize("level", [AutonomyLevel.DRY_RUN, AutonomyLevel.ASSIST])
def test_less_freedom_leaves_nothing_out(level: AutonomyLevel) -> None:
    assert not left_out(gated(), autonomy=level)


def test_a_dry_run_of_one_phase_goes_past_nothing() -> None:
    assert not left_out(gated(), phases=("release",), autonomy=AutonomyLevel.DRY_RUN)


def test_a_disabled_phase_has_no_gate() -> None:
    document = gated()
    phases = document["phases"]
    assert isinstance(phases, dict)
    phases["release"]["enabled"] = False

    assert "release" not in left_out(document, phases=("build",)).gates


def test_two_plans_of_one_workflow_are_compared_by_their_places() -> None:
    empty = Plan(workflow_id="w")

    assert not bypass_of(empty, empty)
