"""The way through the demo: what is next, on the pages where it is next, until it is put away."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs import demo
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Run
from tests import factories as f

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> None:
    settings.FABER_DATA_DIR = tmp_path


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def client(rita: User) -> Client:
    client = Client()
    client.force_login(rita)
    return client


@pytest.fixture
def run() -> Run:
    return f.work(demo.start_demo())


def shown(client: Client, address: str = "/") -> str:
    page = client.get(address).content.decode()
    found = re.search(r'<section class="guide".*?</section>', page, re.DOTALL)
    return found[0] if found else ""


def at(run: Run) -> str:
    return f"/requests/{f.pending(run).request_id}/"


def test_each_decision_of_the_demo_is_explained_where_it_is_made(client: Client, run: Run) -> None:
    inbox, desk = shown(client), shown(client, at(run))
    assert "1 of 4" in inbox
    assert f'href="{at(run)}"' in inbox
    assert "Review the specification" in desk
    assert "Open the request" not in desk

    run = f.answered(run, "approve")
    assert "Decide about a failure" in shown(client, at(run))
    run = f.answered(run, "retry")
    assert "Approve the release" in shown(client, at(run))
    f.answered(run, "approve")

    assert "4 of 4" in shown(client)
    assert 'href="/start/"' in shown(client)


def test_before_its_first_question_the_demo_is_said_to_run(client: Client) -> None:
    demo.start_demo()

    assert "The demo is running" in shown(client)


def test_the_guide_is_put_away_for_one_person(client: Client, run: Run) -> None:
    response = client.post("/guide/dismiss/", {"next": at(run)})

    other = Client()
    other.force_login(users.create("otto", role=Role.OPERATOR))
    assert (response.status_code, response["Location"]) == (303, at(run))
    assert shown(client) == shown(client, at(run)) == ""
    assert shown(other)
    again = Client()
    again.force_login(User.objects.get(username="rita"))
    assert shown(again) == ""


def test_putting_it_away_leads_to_no_other_site(client: Client) -> None:
    response = client.post("/guide/dismiss/", {"next": "https://elsewhere.example/"})

    assert response["Location"] == "/"


def test_other_runs_have_no_guide(client: Client) -> None:
    run = f.started(f.five_steps())

    assert shown(client) == shown(client, at(run)) == ""


def test_an_empty_inbox_offers_to_start_a_run_to_those_who_may(client: Client) -> None:
    viewer = Client()
    viewer.force_login(users.create("vera", role=Role.VIEWER))

    assert re.search(r'<a [^>]*href="/start/">Start a run</a>', client.get("/").content.decode())
    assert "Start a run" not in viewer.get("/").content.decode()
