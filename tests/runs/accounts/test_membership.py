"""What exists for whom, and what a role in a project gives and takes."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from runs.accounts import membership, permissions, tokens, users
from runs.domain.values.actors import Actor, Role, Scope
from runs.models import AccessToken, Project, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, program

pytestmark = pytest.mark.django_db


@pytest.fixture
def secret_run() -> Run:
    """A run that asks, in a project of its members: rita reviews, the leads operate."""
    Group.objects.get_or_create(name="leads")
    run = f.started(f.five_steps(), work_id="124")
    run.project.visibility = "members"
    run.project.members = ["rita:reviewer", "group:leads:operator", "vera:viewer"]
    run.project.save()
    return f.fresh(run)


def actor(name: str, role: Role, *groups: str) -> Actor:
    user = account(name, role)
    user.groups.add(*Group.objects.filter(name__in=groups))
    return users.actor_of(user)


@pytest.mark.parametrize(
    ("name", "role", "groups", "may"),  # see, answer, operate
    [
        ("rita", Role.VIEWER, (), (True, True, False)),
        ("vera", Role.REVIEWER, (), (True, False, False)),
        ("lena", Role.REVIEWER, ("leads",), (True, True, True)),
        ("sam", Role.REVIEWER, (), (False, False, False)),
        ("olga", Role.OPERATOR, (), (True, True, True)),
        ("ada", Role.ADMIN, (), (True, True, True)),
    ],
)
def test_a_role_in_a_project_stands_in_place_of_the_sites(
    secret_run: Run, name: str, role: Role, groups: tuple[str, ...], may: tuple[bool, bool, bool]
) -> None:
    person = actor(name, role, *groups)

    assert may == (
        membership.sees(person, secret_run.project),
        not permissions.refusal_to_answer(person, secret_run, ()),
        permissions.may_operate(person, secret_run.project),
    )


def test_ones_own_role_counts_before_that_of_a_group(secret_run: Run) -> None:
    secret_run.project.members = ["lena:viewer", "group:leads:operator"]

    assert not permissions.may_operate(actor("lena", Role.REVIEWER, "leads"), secret_run.project)


def test_a_members_role_counts_where_everyone_sees_too(secret_run: Run) -> None:
    secret_run.project.visibility = "everyone"

    assert permissions.refusal_to_answer(actor("vera", Role.REVIEWER), secret_run, ())
    assert not permissions.refusal_to_answer(actor("sam", Role.REVIEWER), secret_run, ())


def test_a_git_name_or_a_login_is_no_member(secret_run: Run) -> None:
    assert not membership.sees(f.person("rita"), secret_run.project)


def token(
    scope: Scope, *, user: User | None = None, projects: tuple[Project, ...] = ()
) -> AccessToken:
    return tokens.create("ci", scope=scope, user=user, projects=projects)[0]


@pytest.mark.parametrize("scope", list(Scope))
def test_a_token_of_nobodys_sees_only_what_it_is_bound_to(secret_run: Run, scope: Scope) -> None:
    other = Project.objects.create(name="Acme/Other")

    free = tokens.actor_of(token(scope))
    AccessToken.objects.all().delete()
    bound = tokens.actor_of(token(scope, projects=(secret_run.project,)))

    assert not membership.sees(free, secret_run.project)
    assert membership.sees(free, other)
    assert membership.sees(bound, secret_run.project)
    assert not membership.sees(bound, other)


def test_a_bound_token_of_a_person_sees_what_both_may(secret_run: Run) -> None:
    bound = tokens.actor_of(
        token(Scope.REVIEWER, user=account("sam", Role.REVIEWER), projects=(secret_run.project,))
    )

    assert not membership.sees(bound, secret_run.project)


def test_a_token_whose_projects_are_gone_opens_nothing(secret_run: Run) -> None:
    gone = Project.objects.create(name="Acme/Gone")
    made = token(Scope.OPERATOR, user=account("olga", Role.OPERATOR), projects=(gone,))

    gone.delete()

    assert not membership.sees(tokens.actor_of(made), secret_run.project)


def test_a_reviewers_token_of_a_projects_operator_does_not_operate(secret_run: Run) -> None:
    lena = account("lena", Role.VIEWER)
    lena.groups.add(Group.objects.get(name="leads"))
    of_lena = tokens.actor_of(token(Scope.REVIEWER, user=lena))

    assert not permissions.may_operate(of_lena, secret_run.project)
    assert not permissions.refusal_to_answer(of_lena, secret_run, ())


def test_the_viewer_of_a_project_only_reads_with_a_token(secret_run: Run) -> None:
    of_vera = program(Scope.AGENT, account("vera", Role.REVIEWER), name="veras")

    assert of_vera.get(f"/runs/{secret_run.run_id}").status_code == 200
    assert of_vera.post(f"/runs/{secret_run.run_id}/next").status_code == 403


def test_what_a_program_does_is_told_with_its_owner_and_its_token(secret_run: Run) -> None:
    rita = program(Scope.REVIEWER, account("rita", Role.REVIEWER), name="laptop")

    answered = body_of(
        rita.post(f"/requests/{f.pending(secret_run).request_id}/answer", {"response": "approve"})
    )
    started = body_of(rita.post("/runs", {"workflow": "demo"}))

    by = answered["response"]["provided_by"]
    assert (by["user"], by["token"]) == ("rita", "laptop")
    assert (started["started_by"], started["started_by_token"]) == ("rita", "laptop")


# What is not there for somebody is not there anywhere


@pytest.fixture
def outsider() -> Client:
    client = Client()
    client.force_login(account("sam", Role.REVIEWER))
    return client


@pytest.fixture
def stranger() -> Program:
    return program(Scope.OPERATOR, name="nobodys")


def test_no_page_of_it_exists(secret_run: Run, outsider: Client) -> None:
    run, asked = f"/runs/{secret_run.run_id}/", f"/requests/{f.pending(secret_run).request_id}/"

    for address in (run, f"{run}state.json", asked, "/projects/Acme/App/"):
        assert outsider.get(address).status_code == 404, address
    assert outsider.post(asked, {"response": "approve"}).status_code == 404
    assert outsider.post(f"{run}cancel/", {"reason": "x"}).status_code == 404


@pytest.mark.parametrize(
    "address", ["/", "/runs/", "/runs/?q=124", "/projects/", "/audit/", "/statistics/", "/start/"]
)
def test_no_list_tells_of_it(secret_run: Run, outsider: Client, address: str) -> None:
    page = outsider.get(address).content.decode()

    assert "Acme/App" not in page
    assert str(secret_run.uuid)[:8] not in page


def test_no_csv_tells_of_it(secret_run: Run, outsider: Client) -> None:
    f.answer(secret_run, "approve", actor=f.STARTER)

    told = b"".join(outsider.get("/audit.csv").streaming_content)  # type: ignore[attr-defined]

    assert secret_run.run_id.encode() not in told


def test_no_call_knows_it(secret_run: Run, stranger: Program) -> None:
    run, asked = f"/runs/{secret_run.run_id}", f"/requests/{f.pending(secret_run).request_id}"

    for address in (run, f"{run}/state", f"{run}/events", f"{run}/context", asked):
        assert stranger.get(address).status_code == 404, address
    for address in (f"{run}/next", f"{run}/cancel", f"{run}/rerun", f"{asked}/answer"):
        body = {"reason": "x"} if address.endswith("cancel") else {}
        body = {"response": "approve"} if address.endswith("answer") else body
        assert stranger.post(address, body).status_code == 404, address
    assert body_of(stranger.get("/runs"))["items"] == []
    assert body_of(stranger.get("/runs", q="124"))["items"] == []
    assert body_of(stranger.get("/requests"))["items"] == []
    assert secret_run.attempts.count() == 2


def test_nothing_is_started_in_it(secret_run: Run, outsider: Client) -> None:
    sams = program(Scope.REVIEWER, User.objects.get(username="sam"))

    assert sams.post("/runs", {"workflow": "core", "project": "Acme/App"}).status_code == 404
    assert Run.objects.count() == 1


def test_the_uuid_of_a_run_that_is_not_there_finds_nothing(
    secret_run: Run, stranger: Program
) -> None:
    assert stranger.get(f"/runs/{str(secret_run.uuid)[:8]}").status_code == 404


def test_a_bound_token_starts_nothing_elsewhere(secret_run: Run) -> None:
    secret, bound = tokens.create("bound", scope=Scope.REVIEWER, projects=[secret_run.project])[
        ::-1
    ]
    assert bound.is_bound

    assert Program(secret).post("/runs", {"workflow": "demo"}).status_code == 404
    assert (
        Program(secret).post("/runs", {"workflow": "core", "project": "New/One"}).status_code == 404
    )
    assert not Project.objects.filter(name="New/One").exists()


def test_an_agent_cannot_have_the_site_speak_in_a_repository_of_no_project() -> None:
    agent = program(Scope.AGENT)
    question = {"type": "confirmation", "prompt": "?", "project": "Other/Private", "work_id": "7"}

    assert agent.post("/requests", question).status_code == 404

    assert not Project.objects.filter(name="Other/Private").exists()
    assert not Run.objects.exists()


def test_a_viewer_stores_no_draft_and_no_comment(client: Client) -> None:
    run = f.started(f.five_steps())
    client.force_login(account("vera", Role.VIEWER))
    address = f"/requests/{f.pending(run).request_id}/"

    assert client.post(f"{address}draft/", {"comment": "x"}).status_code == 403
    assert client.post(f"{address}remarks/", {"body": "x"}).status_code == 403
    assert client.post(address, {"response": "approve", "comment": "x"}).status_code == 403
    assert not f.pending(run).drafts.exists()
