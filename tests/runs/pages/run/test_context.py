"""What a run's steps were told and what they cost, as a browser shows it."""

from html import unescape

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs.accounts import users
from runs.context import reader
from runs.domain.values.actors import Role
from runs.models import ContextPackage, Run, StepAttempt
from tests import factories as f
from tests import packages as p

pytestmark = pytest.mark.django_db

DIFFERENCE = {"HX-Request": "true", "HX-Target": "difference"}
HOSTILE = "<script>alert(1)</script> <b>bold</b>\n```\n</code></pre><h1>Heading</h1>"


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return " ".join(unescape(response.content.decode()).split())


def address(run: Run, more: str = "") -> str:
    return f"/runs/{run.run_id}/{more}"


@pytest.fixture
def viewer(client: Client) -> User:
    user = users.create("vera", role=Role.VIEWER)
    client.force_login(user)
    return user


@pytest.fixture
def run() -> Run:
    run = f.start(f.five_steps(), work_id="258")
    p.told_twice(run)
    return run


@pytest.mark.usefixtures("viewer")
def test_the_run_page_shows_the_newest_package_with_what_is_missing(
    client: Client, run: Run
) -> None:
    shown = text(client.get(address(run)))

    assert "Package 2</a> <span>two, attempt 2</span>" in shown
    assert '<th scope="row">Spec</th>' in shown
    assert "5000 ms" in shown
    assert "<strong>Issue</strong>: GitHub <did> not answer." in shown
    assert "<strong>Events</strong>: 12 events" in shown
    assert "over the budget" in shown


@pytest.mark.usefixtures("viewer")
def test_a_note_is_words_and_never_markup(client: Client, run: Run) -> None:
    assert b"GitHub <did>" not in client.get(address(run)).content


@pytest.mark.usefixtures("viewer")
def test_however_much_was_left_out_the_page_tells_all_of_it(client: Client, run: Run) -> None:
    gone = [
        {"source": "issue", "what": f"the comment {number}", "bytes": 90, "why": "over the budget"}
        for number in range(100)
    ]
    p.told(run, "three", left_out=gone)

    shown = text(client.get(address(run)))

    assert shown.count("<strong>Issue</strong>: the comment") == 100


@pytest.mark.usefixtures("viewer")
def test_each_attempt_links_to_what_it_was_told(client: Client, run: Run) -> None:
    shown = text(client.get(address(run)))

    for number, attempt in enumerate(run.attempts.filter(step="two").order_by("id"), start=1):
        assert f'id="told-{attempt.pk}" href="{address(run)}context/{number}/"' in shown


@pytest.mark.usefixtures("viewer")
def test_a_run_whose_steps_were_told_nothing_says_so(client: Client) -> None:
    run = f.start(f.five_steps())

    assert "No context packages yet" in text(client.get(address(run)))


@pytest.mark.usefixtures("viewer")
def test_a_package_has_a_page_with_its_words(client: Client, run: Run) -> None:
    shown = text(client.get(address(run, "context/2/")))

    assert "<h1>Package 2</h1>" in shown
    assert "attempt 2, revise" in shown
    assert "path: specs/export.md content: # Export Two lines each." in shown
    assert 'title="' + "ef" * 32 in shown
    assert "<ins>" not in shown


@pytest.mark.usefixtures("viewer")
def test_words_in_a_package_are_never_markup(client: Client) -> None:
    run = f.start(f.five_steps())
    p.told(run, spec={"path": "x.md", "content": HOSTILE})
    p.told(run, number=2, spec={"path": "x.md", "content": "Harmless."}, issue={"body": HOSTILE})

    for page in ("context/1/", "context/2/?with=1"):
        raw = client.get(address(run, page)).content.decode()
        assert "alert(1)" in raw
        for mark in ("<script>alert", "<b>bold", "<h1>Heading"):
            assert mark not in raw


@pytest.mark.usefixtures("viewer")
def test_two_packages_are_compared_line_by_line(client: Client, run: Run) -> None:
    shown = text(client.get(address(run, "context/2/"), {"with": "1"}))

    assert "<del> One line each.</del>" in shown
    assert "<ins> Two lines each.</ins>" in shown
    assert "From package 1 (two) to package 2 (two)" in shown
    assert "<td>ok, 24 bytes</td><td>ok, 25 bytes</td><td><strong>changed</strong></td>" in shown
    assert "Unchanged: state, metadata, issue, events." in shown


@pytest.mark.usefixtures("viewer")
def test_the_comparison_alone_is_a_fragment_of_the_page(client: Client, run: Run) -> None:
    part = text(client.get(address(run, "context/2/?with=1"), headers=DIFFERENCE))

    assert part.startswith('<section class="pane" id="difference"')
    assert "<ins> Two lines each.</ins>" in part
    assert "<h1>" not in part


@pytest.mark.usefixtures("viewer")
def test_the_package_before_is_offered_first(client: Client, run: Run) -> None:
    p.told(run, "three")

    shown = text(client.get(address(run, "context/3/")))

    assert '<option value="2" selected>Package 2 – two, attempt 2</option>' in shown
    assert '<option value="1">Package 1 – two</option>' in shown


@pytest.mark.usefixtures("viewer")
@pytest.mark.parametrize(
    "more",
    ["context/3/", "context/0/", "context/2/?with=9", "context/2/?with=x", "context/9.json"],
)
def test_a_package_nobody_has_is_not_found(client: Client, run: Run, more: str) -> None:
    assert client.get(address(run, more)).status_code == 404


@pytest.mark.usefixtures("viewer")
def test_a_package_can_be_had_as_it_is(client: Client, run: Run) -> None:
    response = client.get(address(run, "context/1.json"))

    assert response.json() == p.package()


@pytest.mark.parametrize("more", ["context/1/", "context/1.json"])
def test_a_stranger_sees_no_package(client: Client, run: Run, more: str) -> None:
    response = client.get(address(run, more))

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/")


@pytest.mark.usefixtures("viewer")
def test_what_is_too_long_for_a_page_is_cut_and_said_so(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SHOWN_CHARACTERS", 20)
    monkeypatch.setattr(reader, "SHOWN_ROWS", 3)

    shown = text(client.get(address(run, "context/2/?with=1")))

    assert "Showing the first 20 of" in shown
    assert "More changes not shown" in shown


# What agents cost


@pytest.fixture
def paid(run: Run) -> Run:
    first, second = run.attempts.filter(step="two").order_by("id")
    usage = {"agent": "claude", "turns": 7, "cost_usd": 0.42}
    StepAttempt.objects.filter(pk=first.pk).update(usage=usage, session="4b1d-77")
    StepAttempt.objects.filter(pk=second.pk).update(usage={"agent": "codex", "turns": 2})
    return run


@pytest.mark.usefixtures("viewer")
def test_an_attempt_shows_what_its_agent_cost(client: Client, paid: Run) -> None:
    shown = text(client.get(address(paid)))

    assert "claude: $0.42, 7 turns</span>" in shown
    assert "codex: 2 turns</span>" in shown


@pytest.mark.usefixtures("viewer")
def test_a_run_shows_what_its_agents_cost_together(client: Client, paid: Run) -> None:
    assert "$0.42, 9 turns</span>" in text(client.get(address(paid)))


@pytest.mark.usefixtures("viewer")
def test_a_run_without_agents_names_no_cost(client: Client, run: Run) -> None:
    shown = text(client.get(address(run)))

    assert "attempt-cost" not in shown
    assert "$" not in shown


@pytest.mark.usefixtures("viewer")
def test_the_session_of_an_agent_is_beside_its_output(client: Client, paid: Run) -> None:
    attempt = paid.attempts.get(session="4b1d-77")

    shown = text(client.get(address(paid, f"attempts/{attempt.pk}/output")))

    assert 'session <span class="mono">4b1d-77</span>' in shown
    assert "claude $0.42, 7 turns" in shown


def test_staff_see_costs_and_packages_in_the_admin(client: Client, paid: Run) -> None:
    client.force_login(users.create("olga", role=Role.OPERATOR))

    attempts = text(client.get("/admin/faber_runs/stepattempt/"))
    packages = text(client.get("/admin/faber_runs/contextpackage/"))

    assert "$0.42, 7 turns" in attempts
    for number in (1, 2):
        assert f'<a href="{address(paid)}context/{number}/">Open</a>' in packages


def test_the_pages_of_a_run_are_read_in_few_queries(
    client: Client, run: Run, viewer: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3, 9):
        p.told(run, "two", number)
    assert ContextPackage.objects.count() == 8

    with django_assert_max_num_queries(11):
        client.get(address(run, "context/2/?with=1"))
