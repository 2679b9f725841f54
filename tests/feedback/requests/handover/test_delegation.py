"""Handing a request over: the other answers in one's place, and both names stay on record."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from feedback.audit import integrity, lines
from feedback.audit.decisions import DecisionFilter
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.handover.delegation import delegate
from feedback.requests.request_json import request_shape
from runs.accounts import users
from runs.domain.values.actors import Actor, Role
from runs.domain.values.errors import AlreadyAnswered, Invalid, NotAllowed
from runs.models import Project, Run
from tests import factories as f
from tests.commands import faber

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def people() -> dict[str, User]:
    roles = {"olga": Role.OPERATOR, "vera": Role.VIEWER}
    names = ("bob", "carl", "rita", "olga", "vera")
    return {name: users.create(name, role=roles.get(name, Role.REVIEWER)) for name in names}


def actor(name: str) -> Actor:
    return users.actor_of(User.objects.get(username=name))


def asked(**step: Any) -> Run:
    one = f.step("one", requires_approval=True, **step)
    return f.started(f.workflow({"build": [one, f.step("two")]}))


def handed(run: Run, to: str, by: str, comment: str = "") -> FeedbackRequest:
    return delegate(f.pending(run).request_id, to, actor=actor(by), comment=comment)


def test_the_other_answers_in_ones_place_and_both_names_are_told() -> None:
    run = asked(reviewers=["bob"])
    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=actor("rita"))

    request = handed(run, "rita", by="bob", comment="On leave.")
    shape = request_shape(request)
    assert shape["assignee"] == "rita"
    [told] = request.delegated
    assert {key: told[key] for key in ("from", "to", "comment")} == {
        "from": "bob",
        "to": "rita",
        "comment": "On leave.",
    }
    given = f.answer(run, "approve", actor=actor("rita"))

    assert given.decides
    assert given.who == "rita for bob"
    assert given.provided_by["on_behalf_of"] == "bob"
    [line] = lines.found(DecisionFilter(kind="decision"))
    assert (line.who, line.account) == ("rita for bob", "rita")
    assert "handed over from bob to rita" in [
        line.what for line in lines.found(DecisionFilter(kind="rule"))
    ]


def test_a_handover_is_part_of_the_record() -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")
    assert integrity.faults() == []

    FeedbackRequest.objects.update(assignee="olga")

    [fault] = integrity.faults()
    assert "the question" in fault


def test_who_handed_it_over_may_still_answer() -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")

    assert f.answer(run, "approve", actor=actor("bob")).who == "bob"


def test_one_place_is_one_answer_of_a_quorum() -> None:
    run = asked(reviewers=["bob", "carl"], quorum=2)
    handed(run, "rita", by="bob")
    f.answer(run, "approve", actor=actor("rita"))

    with pytest.raises(AlreadyAnswered, match="rita for bob has answered for you already"):
        f.answer(run, "approve", actor=actor("bob"))
    assert f.answer(run, "approve", actor=actor("carl")).decides


def test_a_place_that_was_used_cannot_be_used_by_another() -> None:
    run = asked(reviewers=["bob", "carl"], quorum=2)
    handed(run, "rita", by="bob")
    f.answer(run, "approve", actor=actor("bob"))

    with pytest.raises(AlreadyAnswered, match="bob has answered for bob already"):
        f.answer(run, "approve", actor=actor("rita"))


def test_what_is_handed_on_is_still_the_first_ones_place() -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")
    handed(run, "carl", by="rita")

    assert f.answer(run, "approve", actor=actor("carl")).who == "carl for bob"


def test_who_is_asked_anyway_answers_for_themselves() -> None:
    run = asked(reviewers=["bob", "rita"], quorum=2)
    handed(run, "rita", by="bob")

    assert f.answer(run, "approve", actor=actor("rita")).who == "rita"


def test_an_operator_reassigns_what_is_not_theirs() -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")

    request = handed(run, "carl", by="olga")

    assert request.assignee == "carl"
    assert (request.delegated[1]["from"], request.delegated[1]["to"]) == ("rita", "carl")


def test_nobody_else_hands_it_over() -> None:
    run = asked(reviewers=["bob"])

    for name in ("rita", "vera"):
        with pytest.raises(NotAllowed):
            handed(run, "carl", by=name)


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("rida", "there is no account rida, did you mean rita?"),
        ("group:reviewer", "name an account, not a group"),
        ("vera", "vera can't answer this request. Only reviewers and operators can answer."),
        ("bob", "choose somebody else than yourself"),
    ],
)
def test_whoever_cannot_decide_is_refused(to: str, told: str) -> None:
    run = asked(reviewers=["bob"])

    with pytest.raises(Invalid, match=told.replace("?", r"\?")):
        handed(run, to, by="bob")
    assert f.pending(run).delegated == []


def test_who_has_it_already_does_not_get_it_again() -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")

    with pytest.raises(Invalid, match="has it already"):
        handed(run, "rita", by="bob")


def test_self_approval_is_refused_through_others_too(settings: Settings) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    run = asked(reviewers=["bob"])
    Run.objects.filter(pk=run.pk).update(started_by_user=User.objects.get(username="rita"))

    with pytest.raises(Invalid, match="You started this run"):
        handed(run, "rita", by="bob")


def test_what_is_decided_cannot_be_handed_over() -> None:
    run = asked(reviewers=["bob"])
    request = f.pending(run)
    f.answer(run, "approve", actor=actor("bob"))

    with pytest.raises(AlreadyAnswered):
        delegate(request.request_id, "rita", actor=actor("bob"))


def test_a_closed_project_stays_closed() -> None:
    run = asked(reviewers=["bob"])
    Project.objects.update(visibility="members", members=["bob:reviewer"])

    with pytest.raises(Invalid, match="Only members of this project can answer"):
        handed(run, "rita", by="bob")


def test_the_terminal_hands_over() -> None:
    request = f.pending(asked(reviewers=["bob"]))

    answer = faber("delegate", request.request_id, "rita", "--comment", "Yours.", "--json")

    assert answer.code == 0, answer.err
    assert answer.document["assignee"] == "rita"
    assert answer.document["delegated"][0]["comment"] == "Yours."
    assert "rita (handed over by" in faber("show", request.request_id).out
    assert faber("delegate", request.request_id, "nobody").code == 2


def test_the_page_hands_over_and_the_inbox_follows(client: Client, people: Any) -> None:
    run = asked(reviewers=["bob", "rita"])
    address = f"/requests/{f.pending(run).request_id}/"
    client.force_login(people["bob"])
    assert "Hand over" in client.get(address).content.decode()
    wrong = client.post(f"{address}delegate/", {"to": "rida", "comment": "Please."})
    assert wrong.status_code == 422
    assert 'value="rida"' in wrong.content.decode()
    assert "To: there is no account rida" in wrong.content.decode()
    assert "The request was not handed over." in wrong.content.decode()
    assert "Your answer was not recorded" not in wrong.content.decode()

    assert client.post(f"{address}delegate/", {"to": "rita"}).status_code == 303

    assert "handed this over to <strong>rita</strong>" in client.get(address).content.decode()
    assert address not in client.get("/", {"mine": "1"}).content.decode()
    client.force_login(people["rita"])
    page = client.get("/", {"mine": "1"}).content.decode()
    assert address in page
    assert "Assigned to rita" in page


def test_both_names_survive_an_export(tmp_path: Any) -> None:
    run = asked(reviewers=["bob"])
    handed(run, "rita", by="bob")
    f.answer(run, "approve", actor=actor("rita"))
    f.work(run)
    assert faber("export", run.run_id, str(tmp_path / "out")).code == 0
    run.delete()

    assert faber("import", str(tmp_path / "out")).code == 0

    assert FeedbackResponse.objects.get().who == "rita for bob"
    assert FeedbackRequest.objects.get().delegated[0]["to"] == "rita"
