"""Time in a workflow: inherited, checked with its place, and never an approval by silence."""

from collections.abc import Mapping
from typing import Any

import pytest

from runs.domain.planning import gates
from runs.domain.values.errors import Invalid
from runs.domain.values.moments.durations import read_duration
from runs.domain.values.moments.timing import Timing
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan

Json = dict[str, object]


def document(step: Mapping[str, object] | None = None, **fields: Any) -> Json:
    own = {"id": "s", "run": ["true"], "requires_approval": True, **(step or {})}
    return {"id": "w", "phases": {"build": {"steps": [own]}}, **fields}


def plan_of(*documents: Json) -> Plan:
    return make_plan([read_workflow(each).workflow for each in documents]).plan


def problems(*documents: Json) -> list[str]:
    with pytest.raises(Invalid) as refused:
        plan_of(*documents)
    return [str(problem) for problem in refused.value.problems]


def timing(plan: Plan) -> Timing:
    question = gates.before_phase(plan, 0)
    return gates.addressed(plan, 0, question).timing


def test_a_step_says_when_it_is_due_and_what_follows() -> None:
    plan = plan_of(
        document(
            {
                "due": "4h",
                "remind": "1h",
                "escalate": {"after": "2h", "to": ["olga"]},
                "on_timeout": "reject",
            }
        )
    )

    assert timing(plan) == Timing(
        due=read_duration("4h"),
        remind=read_duration("1h"),
        escalate_after=read_duration("2h"),
        escalate_to=("olga",),
        on_timeout="reject",
    )


def test_what_a_step_does_not_say_its_workflow_does_and_then_its_parent() -> None:
    parent = {**document(due="3d", remind="1d"), "id": "parent"}
    plan = plan_of(document({"due": "1h"}, extends="parent", remind="2h"), parent)

    assert timing(plan) == Timing(due=read_duration("1h"), remind=read_duration("2h"))


def test_a_plan_that_says_nothing_about_time_is_stored_as_before() -> None:
    assert "due" not in str(plan_of(document()).dump())
    assert timing(plan_of(document())) == Timing()


def test_a_plan_keeps_what_it_says_about_time() -> None:
    plan = plan_of(document({"due": "1h", "on_timeout": "reject"}))

    assert timing(Plan.read(plan.dump())) == timing(plan)


STEP = "phases.build.steps[0]"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"due": "4x"}, f"{STEP}.due: '4x' is not a duration: write 30s, 45m, 2h or 3d"),
        ({"due": 4}, f"{STEP}.due: must be a string, not a number"),
        ({"remind": "0h"}, f"{STEP}.remind: '0h' is not a duration: write 30s, 45m, 2h or 3d"),
        ({"escalate": {"after": "2h"}}, f"{STEP}.escalate.to: missing key"),
        ({"escalate": {"after": "2h", "to": []}}, f"{STEP}.escalate.to: must not be empty"),
        (
            {"escalate": {"after": "2h", "to": ["x"], "afte": 1}},
            f"{STEP}.escalate.afte: unknown key, did you mean after?",
        ),
        ({"du": "4h"}, f"{STEP}.du: unknown key, did you mean due?"),
        (
            {"on_timeout": "reject"},
            f"{STEP}.on_timeout: has no effect without due: say when it is taken",
        ),
        (
            {"due": "1h", "on_timeout": "aprove"},
            f"{STEP}.on_timeout: aprove is not one of the options, did you mean approve?",
        ),
        (
            {"due": "1h", "on_timeout": "approve"},
            f"{STEP}.on_timeout: approve lets the run continue although nobody decided; that needs "
            "allow_timeout_approval: true",
        ),
        (
            {"due": "1h", "on_timeout": "skip"},
            f"{STEP}.on_timeout: skip lets the run continue although nobody decided; that needs "
            "allow_timeout_approval: true",
        ),
        (
            {"due": "1h", "on_timeout": "request_changes", "approval_type": "review"},
            f"{STEP}.on_timeout: request_changes needs a comment, and nobody writes one at a "
            "timeout",
        ),
        (
            {
                "due": "1h",
                "on_timeout": "go",
                "allow_timeout_approval": False,
                "options": [{"value": "go", "action": "continue"}],
            },
            f"{STEP}.on_timeout: go lets the run continue although nobody decided; that needs "
            "allow_timeout_approval: true",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(step: Json, told: str) -> None:
    assert problems(document(step)) == [told]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"on_timeout": "reject"},
            "on_timeout: has no effect without due: say when it is taken",
        ),
        (
            {"due": "1h", "on_timeout": "approve"},
            "on_timeout: approve lets the run continue although nobody decided; that needs "
            "allow_timeout_approval: true",
        ),
        ({"due": "1h", "on_timeout": "whatever"}, "on_timeout: no step offers whatever"),
        ({"due": "soon"}, "due: 'soon' is not a duration: write 30s, 45m, 2h or 3d"),
    ],
)
def test_a_workflow_is_held_to_the_same(fields: dict[str, Any], told: str) -> None:
    assert problems(document(**fields)) == [told]


def test_an_ancestor_is_named() -> None:
    parent = {**document(on_timeout="reject"), "id": "parent"}

    assert problems(document(extends="parent"), parent) == [
        "parent: on_timeout: has no effect without due: say when it is taken"
    ]


def test_silence_approves_only_where_the_workflow_says_so_itself() -> None:
    asked = {"due": "1h", "on_timeout": "approve"}

    assert timing(plan_of(document({**asked, "allow_timeout_approval": True}))).on_timeout
    assert timing(plan_of(document(asked, allow_timeout_approval=True))).on_timeout == "approve"


def test_a_question_that_does_not_offer_the_option_does_not_time_out() -> None:
    plan = plan_of(document({"due": "1h", "on_timeout": "abort"}))

    assert timing(plan) == Timing(due=read_duration("1h"))
