"""Round-robin within a group, where a project wants it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from pytest_django import Settings

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Project, Run, StandIn
from tests import factories as f

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def leads() -> dict[str, User]:
    Project.objects.create(name="Acme/App", assign="round-robin")
    group = Group.objects.create(name="leads")
    made = {name: users.create(name, role=Role.REVIEWER) for name in ("ann", "ben", "cy")}
    for user in made.values():
        user.groups.add(group)
    return made


def asked(**step: Any) -> Run:
    given = {"reviewers": ["group:leads"], **step}
    return f.started(f.workflow({"build": [f.step("one", requires_approval=True, **given)]}))


def turns(times: int) -> list[str]:
    return [f.pending(asked()).assignee for _ in range(times)]


def test_each_member_has_a_turn() -> None:
    assert turns(5) == ["ann", "ben", "cy", "ann", "ben"]


def test_the_others_may_still_answer(leads: dict[str, User]) -> None:
    run = asked()

    assert f.answer(run, "approve", actor=users.actor_of(leads["cy"])).who == "cy"


def test_who_is_away_or_gone_is_passed_over(leads: dict[str, User]) -> None:
    StandIn.objects.create(
        user=leads["ben"], stand_in=leads["cy"], until=timezone.now() + timedelta(days=1)
    )
    assert turns(3) == ["ann", "cy", "ann"]

    User.objects.filter(username="cy").update(is_active=False)
    assert turns(2) == ["ann", "ann"]


def test_who_cannot_decide_is_passed_over(leads: dict[str, User], settings: Settings) -> None:
    users.set_role(leads["ann"], Role.VIEWER)
    leads["ann"].groups.add(Group.objects.get(name="leads"))

    assert turns(2) == ["ben", "cy"]


def test_nobody_has_a_turn_unless_the_project_wants_it() -> None:
    Project.objects.update(assign="")

    assert turns(1) == [""]


def test_names_are_asked_themselves() -> None:
    assert f.pending(asked(reviewers=["ann", "ben"])).assignee == ""
