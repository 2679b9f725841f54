"""Whether those a workflow leaves its decisions to exist."""

import pytest

from runs.domain.workflow import reviewers
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.reviewers import People

PEOPLE = People(names=["rita", "Otto"], groups=["leads", "reviewer"])


def plan_of(*named: object, **more: object) -> Plan:
    steps = [
        {"id": f"s{number}", "run": ["true"], **({} if who is None else {"reviewers": who})}
        for number, who in enumerate(named)
    ]
    document = {"id": "w", "phases": {"build": {"steps": steps, **more}}}
    return make_plan([read_workflow(document).workflow]).plan


def told(plan: Plan) -> list[str]:
    return [str(problem) for problem in reviewers.problems_in(plan, PEOPLE)]


@pytest.mark.parametrize("who", [["rita"], ["RITA", "otto"], ["group:leads"], None])
def test_known_names_are_nobodys_problem(who: list[str] | None) -> None:
    assert told(plan_of(who)) == []


def test_an_unknown_name_is_told_with_its_place_and_the_nearest_known_one() -> None:
    assert told(plan_of(None, ["rita", "rida"])) == [
        "phases.build.steps[1].reviewers[1]: there is no account rida, did you mean rita?"
    ]


def test_an_unknown_group_is_told() -> None:
    assert told(plan_of(["group:lead"])) == [
        "phases.build.steps[0].reviewers[0]: there is no group lead, did you mean leads?"
    ]


def test_an_empty_list_names_nobody() -> None:
    assert told(plan_of([])) == [
        "phases.build.steps[0].reviewers: is empty. Remove it or name reviewers"
    ]


def test_an_empty_list_survives_in_the_plan_that_is_stored() -> None:
    assert told(Plan.read(plan_of([]).dump())) == told(plan_of([]))


def test_steps_are_counted_within_their_own_list() -> None:
    before = [{"id": "p", "run": ["true"]}]

    assert told(plan_of(["nobody"], pre_steps=before))[0].startswith("phases.build.steps[0].")


def test_a_plan_without_reviewers_needs_no_look_at_the_accounts() -> None:
    assert not reviewers.named(plan_of(None))
    assert reviewers.named(plan_of([]))
