"""So many of each group: a person counts once, and where they are needed most."""

import pytest

from runs.domain.values.errors import Invalid
from runs.domain.workflow.deciding.quorum import missing
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.reviewers import People, named, problems_in

NEEDS = {"security": 1, "leads": 1}
S, L = frozenset({"security"}), frozenset({"leads"})
BOTH, NONE = S | L, frozenset[str]()


@pytest.mark.parametrize(
    ("seats", "still"),
    [
        ([], {"security": 1, "leads": 1}),
        ([S], {"leads": 1}),
        ([S, S], {"leads": 1}),
        ([S, L], {}),
        ([BOTH], {"leads": 1}),
        ([BOTH, S], {}),
        ([S, BOTH], {}),
        ([BOTH, L], {}),
        ([BOTH, BOTH], {}),
        ([NONE, NONE], {"security": 1, "leads": 1}),
    ],
)
def test_one_of_each_team(seats: list[frozenset[str]], still: dict[str, int]) -> None:
    assert missing(NEEDS, seats) == still


def test_several_of_a_team() -> None:
    assert missing({"security": 2, "leads": 1}, [BOTH, BOTH, S]) == {}
    assert missing({"security": 2, "leads": 1}, [BOTH, BOTH]) == {"leads": 1}


def plan_of(**step: object) -> Plan:
    own = {"id": "s", "run": ["true"], "requires_approval": True, **step}
    document = {"id": "w", "phases": {"build": {"steps": [own]}}}
    return make_plan([read_workflow(document).workflow]).plan


def test_groups_are_read_and_stored() -> None:
    plan = plan_of(quorum={"group:security": 1, "group:leads": 2})
    step = Plan.read(plan.dump()).units[0].step

    assert step.quorum_groups == {"group:security": 1, "group:leads": 2}
    assert step.quorum_number == 3
    assert plan_of(quorum=2).units[0].step.quorum_number == 2


STEP = "phases.build.steps[0].quorum"


@pytest.mark.parametrize(
    ("quorum", "told"),
    [
        ({}, "must not be empty"),
        ({"security": 1}, "security is no group; write group:NAME"),
        ({"group:security": 0}, "must be at least 1"),
        ({"group:security": "1"}, "must be a whole number, or one for each group:NAME"),
        ("two", "must be a whole number, or one for each group:NAME"),
        (True, "must be a whole number, or one for each group:NAME"),
        (0, "must be at least 1"),
    ],
)
def test_what_is_no_quorum_is_refused(quorum: object, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        plan_of(quorum=quorum)

    assert [str(problem) for problem in refused.value.problems] == [f"{STEP}: {told}"]


def test_a_group_that_is_not_asked_cannot_agree() -> None:
    with pytest.raises(Invalid) as refused:
        plan_of(quorum={"group:leads": 1}, reviewers=["rita", "group:security"])

    assert str(refused.value) == f"{STEP}: group:leads is not among the reviewers"


def test_an_unknown_group_is_refused_at_the_start() -> None:
    plan = plan_of(quorum={"group:lead": 1})

    assert named(plan)
    assert [str(problem) for problem in problems_in(plan, People(names=[], groups=["leads"]))] == [
        f"{STEP}: there is no group lead, did you mean leads?"
    ]
