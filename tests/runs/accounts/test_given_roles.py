"""Roles by groups: the highest counts, and what was given here is not taken away."""

import pytest
from django.contrib.auth.models import Group, User

from runs.accounts import given_roles, users
from runs.domain.values.actors import Role

ROLES = (("leads", Role.OPERATOR), ("devs", Role.REVIEWER), ("staff", Role.VIEWER))


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["devs", "leads"], Role.OPERATOR),
        (["staff", "devs"], Role.REVIEWER),
        (["Leads", "others"], None),
        ([], None),
    ],
)
def test_the_highest_role_of_somebodys_groups_counts(groups: list[str], role: Role | None) -> None:
    assert given_roles.highest(groups, ROLES) == role


@pytest.mark.django_db
def test_what_groups_gave_is_taken_back_and_what_was_given_here_stays() -> None:
    ada = users.create("ada", role=Role.VIEWER)

    assert given_roles.apply(ada, Role.OPERATOR) is Role.OPERATOR
    assert ada.is_staff
    assert given_roles.apply(ada, Role.REVIEWER) is Role.REVIEWER
    assert given_roles.apply(ada, None) is Role.VIEWER
    assert users.role_of(ada) is Role.VIEWER
    assert not ada.is_staff


@pytest.mark.django_db
def test_a_role_given_here_meanwhile_is_not_taken_for_the_groups() -> None:
    ada = users.create("ada", role=Role.REVIEWER)
    given_roles.apply(ada, Role.OPERATOR)
    users.set_role(ada, Role.ADMIN)

    assert given_roles.apply(ada, Role.REVIEWER) is Role.ADMIN
    assert given_roles.apply(ada, None) is Role.ADMIN


@pytest.mark.django_db
def test_a_superuser_without_a_group_stays_one() -> None:
    root = User.objects.create_superuser("root")

    assert given_roles.apply(root, Role.REVIEWER) is Role.ADMIN
    assert root.is_superuser


@pytest.mark.django_db
def test_other_groups_of_an_account_stay() -> None:
    ada = users.create("ada", role=Role.REVIEWER)
    ada.groups.add(Group.objects.create(name="security"))

    given_roles.apply(ada, Role.OPERATOR)

    assert users.groups_of(ada) == {"security", "operator"}
