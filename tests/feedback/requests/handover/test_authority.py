"""Who may answer, and what their answer decides: overrides, with what they set aside."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from feedback.audit import integrity, lines, statistics
from feedback.audit.decisions import DecisionFilter
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import respond
from feedback.requests.request_json import request_shape
from runs.accounts import users
from runs.accounts.membership import EVERYTHING
from runs.domain.values.actors import Actor, Role
from runs.domain.values.errors import AlreadyAnswered, NotAllowed, OnHold
from runs.models import Run
from tests import factories as f
from tests.commands import faber

pytestmark = [pytest.mark.django_db, pytest.mark.database]

OLGA = f.person("Olga", groups=frozenset({Role.OPERATOR.value}))


def asked(**step: Any) -> Run:
    one = f.step("one", requires_approval=True, approval_type="review", **step)
    return f.started(f.workflow({"build": [one, f.step("two")]}))


def override(
    run: Run, response: str = "approve", reason: str = "Rita is on leave.", actor: Actor = OLGA
) -> FeedbackResponse:
    return respond(f.pending(run).request_id, response, actor=actor, override=reason)


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ({"reviewers": ["rita"]}, "reviewers"),
        ({"quorum": 3}, "quorum"),
        ({"reviewers": ["rita", "bob"], "quorum": 2}, "reviewers, quorum"),
        ({}, "none"),
    ],
)
def test_an_operator_decides_alone_and_the_rule_set_aside_is_on_record(
    step: f.Json, rule: str
) -> None:
    run = asked(**step)

    given = override(run)

    assert given.decides
    assert request_shape(given.request)["response"]["override"] == {  # type: ignore[index]
        "reason": "Rita is on leave.",
        "rule": rule,
    }
    assert given.request.status == "answered"


def test_an_override_is_told_apart_everywhere() -> None:
    run = asked(reviewers=["rita"])
    override(run, "reject")

    [line] = lines.found(DecisionFilter(kind="decision"))
    assert lines.shape(line)["override"] is True
    assert lines.shape(line)["reason"] == "Rita is on leave."
    received = run.events.get(type="feedback_received").document["metadata"]
    assert received["override"]["rule"] == "reviewers"
    figures = statistics.statistics(since=None, now=run.created_at, sight=EVERYTHING)
    assert figures.lateness.overridden == 1
    assert integrity.faults() == []


def test_a_changed_override_is_found() -> None:
    override(asked(reviewers=["rita"]))

    FeedbackResponse.objects.update(override={})

    [fault] = integrity.faults()
    assert "was changed" in fault


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_nobody_else_overrides(role: Role) -> None:
    run = asked(reviewers=["rita"])
    other = f.person("Mei", groups=frozenset({role.value}))

    with pytest.raises(NotAllowed, match="for operators"):
        override(run, actor=other)


def test_a_reviewer_who_is_asked_cannot_override_a_quorum_either() -> None:
    run = asked(reviewers=["rita", "bob"], quorum=2)

    with pytest.raises(NotAllowed):
        override(run, actor=f.person("Rita"))


def test_who_started_a_run_never_approves_it_where_that_is_refused(settings: Settings) -> None:
    run = asked(reviewers=["rita"])
    override(asked(), actor=f.STARTER)  # it is allowed unless the site refuses it

    settings.FABER_SELF_APPROVAL = "refuse"
    with pytest.raises(NotAllowed, match="also by override"):
        override(run, actor=f.STARTER)


def test_one_answer_of_a_person_is_not_made_two_by_an_override() -> None:
    run = asked(quorum=2)
    f.answer(run, "approve", actor=OLGA)

    with pytest.raises(AlreadyAnswered):
        override(run)


def test_an_imported_run_rests_for_an_override_too() -> None:
    run = asked()
    Run.objects.filter(pk=run.pk).update(on_hold=True)

    with pytest.raises(OnHold):
        override(run)


def test_the_reason_is_what_a_step_hears_when_it_must_hear_something() -> None:
    run = asked(reviewers=["rita"])

    given = override(run, "request_changes", "Name the owner.")

    assert given.comment == "Name the owner."
    f.work(run)
    assert (run.attempts.latest("pk").feedback or {})["comment"] == "Name the owner."


def test_an_override_needs_a_reason_at_the_terminal() -> None:
    request = f.pending(asked(reviewers=["rita"]))

    assert faber("override", request.request_id, "approve", "--reason", " ").code == 2
    answer = faber("override", request.request_id, "approve", "--reason", "On leave.", "--json")
    assert answer.code == 0
    assert answer.document["response"]["override"] == {"reason": "On leave.", "rule": "reviewers"}


def test_the_page_offers_an_override_to_operators_where_others_are_asked(client: Client) -> None:
    users.create("rita", role=Role.REVIEWER)
    run = asked(reviewers=["rita"])
    address = f"/requests/{f.pending(run).request_id}/"
    client.force_login(users.create("olga", role=Role.OPERATOR))
    assert "Override as operator" in client.get(address).content.decode()

    refused = client.post(f"{address}override/", {"response": "reject", "reason": " "})
    assert refused.status_code == 422
    assert "Give the reason for your override." in refused.content.decode()
    sent = {"response": "request_changes", "reason": "Name the owner."}
    assert client.post(f"{address}override/", sent).status_code == 303

    page = client.get(address).content.decode()
    assert "Override of reviewers: Name the owner." in page
    assert FeedbackResponse.objects.get().override["rule"] == "reviewers"


def test_the_page_offers_none_where_everybody_may_answer(client: Client) -> None:
    run = asked()
    client.force_login(users.create("olga", role=Role.OPERATOR))

    page = client.get(f"/requests/{f.pending(run).request_id}/").content.decode()

    assert "Override as operator" not in page


def test_an_override_survives_an_export(tmp_path: Path) -> None:
    run = f.work(asked(reviewers=["rita"]))
    override(run)
    f.work(run)
    kept = request_shape(FeedbackRequest.objects.get())["response"]
    assert faber("export", run.run_id, str(tmp_path / "out")).code == 0
    run.delete()

    assert faber("import", str(tmp_path / "out")).code == 0

    restored = request_shape(FeedbackRequest.objects.get())["response"]
    assert isinstance(restored, dict)
    assert isinstance(kept, dict)
    assert restored["override"] == kept["override"]


# One of each team


def member(name: str, *groups: str) -> Actor:
    return f.person(name, groups=frozenset({Role.REVIEWER.value, *groups}))


TEAMS = {"group:security": 1, "group:leads": 1}


def test_one_of_each_team_must_agree() -> None:
    run = asked(quorum=TEAMS)
    request = f.pending(run)
    assert request.reviewers == ["group:security", "group:leads"]
    assert request_shape(request)["still_needed"] == "1 of leads, 1 of security"

    assert not f.answer(run, "approve", actor=member("Ann", "security")).decides
    assert not f.answer(run, "approve", actor=member("Ben", "security")).decides
    assert request_shape(f.pending(run))["still_needed"] == "1 of leads"
    assert f.answer(run, "approve", actor=member("Cy", "leads")).decides


def test_whoever_is_in_both_teams_counts_once() -> None:
    run = asked(quorum=TEAMS)

    assert not f.answer(run, "approve", actor=member("Ann", "security", "leads")).decides
    assert f.answer(run, "approve", actor=member("Ben", "security")).decides
    assert integrity.faults() == []


def test_one_of_a_single_team_needs_somebody_of_that_team() -> None:
    run = asked(quorum={"group:leads": 1}, reviewers=["rita", "group:leads"])

    assert not f.answer(run, "approve", actor=f.person("Rita")).decides
    assert f.answer(run, "approve", actor=member("Cy", "leads")).decides


def test_one_rejection_still_decides() -> None:
    run = asked(quorum=TEAMS)

    assert f.answer(run, "reject", actor=member("Ann", "security")).decides


def test_an_override_sets_a_quorum_of_teams_aside() -> None:
    assert override(asked(quorum=TEAMS)).override["rule"] == "reviewers, quorum"


def test_the_page_says_who_is_still_needed(client: Client) -> None:
    run = asked(quorum=TEAMS)
    f.answer(run, "approve", actor=member("Ann", "security"))
    client.force_login(users.create("olga", role=Role.OPERATOR))

    page = client.get(f"/requests/{f.pending(run).request_id}/").content.decode()

    assert "Still needed: 1 of leads." in page
