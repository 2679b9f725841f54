"""A stand-in decides for somebody who is away, for as long as that lasts and no longer."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from django.utils.dateformat import format as date_format
from pytest_django import Settings

from runs.accounts import stand_ins, users
from runs.domain.values.actors import Actor, Role
from runs.domain.values.errors import AlreadyAnswered, Invalid, NotAllowed
from runs.models import AuditEntry, Run, StandIn
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def people() -> dict[str, User]:
    return {name: users.create(name, role=Role.REVIEWER) for name in ("bob", "carl", "rita")}


def actor(name: str) -> Actor:
    return users.actor_of(User.objects.get(username=name))


def away(people: dict[str, User], days: int = 3) -> None:
    today = timezone.now().date()
    stand_ins.appoint(people["bob"], people["rita"], today + timedelta(days=days))


def asked(**step: Any) -> Run:
    return f.started(f.workflow({"build": [f.step("one", requires_approval=True, **step)]}))


def test_a_stand_in_answers_with_both_names(people: dict[str, User]) -> None:
    run = asked(reviewers=["bob"])
    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=actor("rita"))

    away(people)

    assert f.answer(run, "approve", actor=actor("rita")).who == "rita for bob"


def test_a_stand_in_answers_what_is_asked_of_a_group(people: dict[str, User]) -> None:
    people["bob"].groups.add(Group.objects.create(name="leads"))
    away(people)

    given = f.answer(asked(reviewers=["group:leads"]), "approve", actor=actor("rita"))

    assert given.who == "rita for bob"


def test_when_it_is_over_it_is_over(people: dict[str, User]) -> None:
    away(people)
    StandIn.objects.update(until=timezone.now())

    with pytest.raises(NotAllowed):
        f.answer(asked(reviewers=["bob"]), "approve", actor=actor("rita"))


def test_a_stand_in_gets_nobodys_role(people: dict[str, User]) -> None:
    users.set_role(people["rita"], Role.VIEWER)
    away(people)

    with pytest.raises(NotAllowed):
        f.answer(asked(reviewers=["bob"]), "approve", actor=actor("rita"))


def test_two_of_one_place_are_one(people: dict[str, User]) -> None:
    away(people)
    run = asked(reviewers=["bob", "carl"], quorum=2)
    f.answer(run, "approve", actor=actor("bob"))

    with pytest.raises(AlreadyAnswered):
        f.answer(run, "approve", actor=actor("rita"))


def test_what_somebody_may_not_answer_nobody_answers_for_them(
    people: dict[str, User], settings: Settings
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    away(people)
    run = asked(reviewers=["bob"])
    Run.objects.filter(pk=run.pk).update(started_by_user=people["bob"])

    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=actor("rita"))

    settings.FABER_SELF_APPROVAL = "allow"
    users.set_role(people["bob"], Role.VIEWER)
    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=actor("rita"))


def test_nobody_stands_in_for_themselves_or_in_the_past(people: dict[str, User]) -> None:
    today = timezone.now().date()
    with pytest.raises(Invalid, match="for yourself"):
        stand_ins.appoint(people["bob"], people["bob"], today)
    with pytest.raises(Invalid, match="from today on"):
        stand_ins.appoint(people["bob"], people["rita"], today - timedelta(days=1))


def test_the_page_appoints_and_ends(client: Client, people: dict[str, User]) -> None:
    client.force_login(people["bob"])
    day = timezone.now().date() + timedelta(days=7)
    assert client.post("/account/stand-in/", {"stand_in": "x", "until": day}).status_code == 422
    past = {"stand_in": "rita", "until": "2020-01-01"}
    refused = client.post("/account/stand-in/", past)
    assert refused.status_code == 422
    assert "Choose a day from today on" in refused.content.decode()

    assert client.post("/account/stand-in/", {**past, "until": day}).status_code == 303

    shown = client.get("/account/stand-in/").content.decode()
    assert "rita stands in for you" in shown
    assert f"Until the end of {date_format(day, 'j M Y')} (UTC)." in shown
    assert AuditEntry.objects.filter(what__startswith="rita stands in for bob until").exists()
    client.force_login(people["rita"])
    assert "You stand in for" in client.get("/account/stand-in/").content.decode()
    client.force_login(people["bob"])
    assert client.post("/account/stand-in/end/").status_code == 303
    assert stand_ins.of(people["bob"]) is None
