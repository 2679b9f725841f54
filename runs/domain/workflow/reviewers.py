"""Whether those who are to decide exist: a name nobody has can let nobody, or anybody, pass."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from runs.domain.values.errors import Problem
from runs.domain.workflow.plan import Plan, Unit
from runs.domain.workflow.problems import did_you_mean, place_of

GROUP = "group:"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who may be named: accounts, and the groups they are in."""

    names: Collection[str]
    groups: Collection[str]

    def problem_with(self, reviewer: str) -> str:
        """What is wrong with a name; nothing when somebody is meant by it."""
        if reviewer.startswith(GROUP):
            group = reviewer.removeprefix(GROUP)
            if group in self.groups:
                return ""
            return f"there is no group {group}{did_you_mean(group, self.groups)}"
        if reviewer.casefold() in {name.casefold() for name in self.names}:
            return ""
        return f"there is no account {reviewer}{did_you_mean(reviewer, self.names)}"


def named(plan: Plan) -> bool:
    """Whether any step says who decides, so that the accounts must be looked up."""
    return any(
        unit.step.reviewers is not None or unit.step.escalate or unit.step.quorum_groups
        for unit in plan.units
    )


def problems_in(plan: Plan, people: People) -> Iterator[Problem]:
    for step_place, unit in placed(plan):
        reviewers, place = unit.step.reviewers, place_of(step_place, "reviewers")
        if reviewers == ():
            yield Problem(place, "is empty. Remove it or name reviewers")
        yield from _unknown(reviewers or (), place, people)
        yield from _unknown_groups(unit, place_of(step_place, "quorum"), people)
        to = unit.step.escalate.to if unit.step.escalate else ()
        yield from _unknown(to, place_of(step_place, "escalate", "to"), people)


def problems_of_project(
    names: Collection[str], people: People, key: str = "reviewers"
) -> Iterator[Problem]:
    yield from _unknown(names, place_of("project", key), people)


def _unknown_groups(unit: Unit, place: str, people: People) -> Iterator[Problem]:
    for group in unit.step.quorum_groups:
        if wrong := people.problem_with(group):
            yield Problem(place, wrong)


def _unknown(names: Collection[str], place: str, people: People) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if wrong := people.problem_with(name):
            yield Problem(place_of(place, index), wrong)


def placed(plan: Plan) -> Iterator[tuple[str, Unit]]:
    """Each step with its place in the file that brought it."""
    for phase in plan.phases:
        counts: Counter[tuple[str, str]] = Counter()
        for unit in phase.units:
            if unit.is_hook:
                continue
            place = place_of(
                *("phases", phase.name.value, f"{unit.position}s"),
                counts[unit.source, unit.position],
            )
            counts[unit.source, unit.position] += 1
            is_own = unit.source == plan.workflow_id
            yield place if is_own else f"{unit.source}: {place}", unit
