"""The audit of decisions in the browser and as CSV."""

import csv
import io
import unicodedata
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from feedback.audit import decisions, views
from feedback.models import FeedbackResponse
from feedback.requests import recorded
from runs.accounts import users
from runs.chain import refusals
from runs.domain.values.actors import Role, Source
from runs.domain.values.errors import NotAllowed
from runs.models import AuditEntry, Project, Run
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db

PART = {"HX-Request": "true", "HX-Target": "decisions"}


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return unescape(response.content.decode())


def rows(client: Client, **query: str) -> list[dict[str, str]]:
    response = client.get("/audit.csv", query)
    told = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(told, newline="")))


@pytest.fixture
def viewer(client: Client) -> User:
    user = users.create("vera", role=Role.VIEWER)
    client.force_login(user)
    return user


@pytest.fixture
def run() -> Run:
    """Revised for Rita in the browser, then approved by Berta in an issue comment."""
    run = f.started(f.five_steps(), work_id="258")
    f.answer(run, "request_changes", "Keep the limits per account.")
    f.work(run)
    f.answer(run, "approve", actor=f.person("Berta", source=Source.ISSUE_COMMENT))
    return f.work(run)


@pytest.mark.usefixtures("viewer")
def test_each_decision_tells_who_what_where_when_and_to_what(client: Client, run: Run) -> None:
    shown = text(client.get("/audit/"))

    asked = FeedbackResponse.objects.get(response="approve").request
    for words in (
        "2 decisions",
        "<strong>Rita</strong>",
        "in the browser",
        "<strong>Berta</strong>",
        "in an issue comment",
        "Request changes",
        "Keep the limits per account.",
        f'href="/requests/{asked.request_id}/"',
        f'href="/runs/{run.run_id}/"',
        f">{asked.seal[:8]}<",
        " UTC</time>",
    ):
        assert words in shown
    assert shown.index("<strong>Berta</strong>") < shown.index("<strong>Rita</strong>")


@pytest.mark.usefixtures("viewer")
def test_the_page_and_its_csv_are_narrowed_alike(client: Client, run: Run) -> None:
    other = f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]}), work_id="7")
    f.answer(other, "abort", "Not worth it.", actor=f.person("Mei", source=Source.API))
    elsewhere = Project.objects.create(name="Acme/Other")
    Run.objects.filter(pk=other.pk).update(project=elsewhere)
    then = timezone.now() - timedelta(days=40)
    given = FeedbackResponse.objects.filter(request__run=other)
    given.update(received_at=then, project=elsewhere)
    AuditEntry.objects.filter(run_id=other.run_id).update(at=then, project="Acme/Other")
    recent = (timezone.now() - timedelta(days=2)).date().isoformat()

    def who(**query: str) -> list[str]:
        shown = text(client.get("/audit/", query))
        told = [row["who"] for row in rows(client, **query)]
        assert sorted(told) == sorted(
            name for name in ("Rita", "Berta", "Mei") if f"<strong>{name}</strong>" in shown
        )
        return told

    assert who() == ["Mei", "Rita", "Berta"]
    assert who(user="berta") == ["Berta"]
    assert who(project="Acme/Other") == ["Mei"]
    assert who(source="issue_comment") == ["Berta"]
    assert who(type="error_resolution") == ["Mei"]
    assert who(since=recent) == ["Rita", "Berta"]
    assert who(until=recent) == ["Mei"]
    assert who(q="LIMITS per") == ["Rita"]
    assert who(q="#7") == ["Mei"]
    assert who(q=run.short_id, user="Rita") == ["Rita"]
    assert who(q="nowhere") == []
    assert who(source="pigeon", type="guess", since="soon") == ["Mei", "Rita", "Berta"]


@pytest.mark.usefixtures("viewer", "run")
def test_an_answer_taken_back_stays_and_says_so(client: Client) -> None:
    given = FeedbackResponse.objects.get(response="approve")
    FeedbackResponse.objects.filter(pk=given.pk).update(state="retracted")
    recorded.retraction(given, reason="Taken back.")
    held = {"state": "held", "held_until": timezone.now()}
    FeedbackResponse.objects.filter(response="request_changes").update(**held)

    shown = text(client.get("/audit/"))

    assert "data-retracted" in shown
    assert "retracted</span>" in shown
    assert "can still be undone</span>" in shown
    assert [row["reason"] for row in rows(client)] == ["", "taken back"]


@pytest.mark.usefixtures("viewer")
def test_the_audit_is_paged_and_costs_the_same_for_many(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(views, "PER_PAGE", 3)
    for number in range(4):
        f.answer(f.started(f.five_steps()), "reject", f"reason {number}")

    with django_assert_max_num_queries(11):  # and the accounts of that name
        first = text(client.get("/audit/", {"user": "Rita"}))
    second = text(client.get("/audit/", {"user": "Rita", "page": "2"}))

    assert [f"reason {number}" in first for number in range(4)] == [False, True, True, True]
    assert [f"reason {number}" in second for number in range(4)] == [True, False, False, False]
    assert 'href="?user=Rita&page=2"' in first


@pytest.mark.usefixtures("viewer", "run")
def test_a_search_answers_with_the_list_alone_and_its_address(client: Client) -> None:
    query = {"q": "limits", "user": "", "type": "review"}

    response = client.get("/audit/", query, headers=PART)

    assert response["HX-Push-Url"] == "/audit/?q=limits&type=review"
    assert "<html" not in text(response)
    assert 'href="/audit.csv?q=limits&user=&type=review"' in text(response)


@pytest.mark.usefixtures("viewer")
def test_an_empty_audit_says_what_will_be_here(client: Client) -> None:
    assert "No decisions yet" in text(client.get("/audit/"))
    assert "No matching decisions" in text(client.get("/audit/", {"user": "nobody"}))


@pytest.mark.usefixtures("viewer", "run")
def test_the_csv_is_a_file_a_spreadsheet_opens(client: Client) -> None:
    AuditEntry.objects.filter(what="approve").update(comment='two\nlines, "quoted"')

    response = client.get("/audit.csv")
    told = b"".join(response.streaming_content)  # type: ignore[attr-defined]

    assert response["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert response["Content-Disposition"] == 'attachment; filename="decisions.csv"'
    assert told.startswith(b"kind,at,who,account,channel,what,comment,run_id,request_id,reason,")
    assert told.count(b"\r\n") == 3
    assert b'"two\nlines, ""quoted"""' in told
    assert [row["who"] for row in rows(client)] == ["Rita", "Berta"]


@pytest.mark.parametrize("opening", ["=", "+", "-", "@", "\uff1d", " =", "\n=", "\x00=", "\u200b="])
def test_no_cell_begins_like_a_formula(opening: str) -> None:
    assert decisions.harmless(f"{opening}1").startswith("'")
    assert decisions.harmless("plain") == "plain"


@pytest.mark.parametrize(
    ("comment", "cell"),
    [
        ("\t=1", "' =1"),
        ("\r=1", "'\n=1"),
        ("\tx", "' x"),
        ("a\x1b[2J\x1b]0;evil\x07b", "a[2J]0;evilb"),
        ("a\u202eb\x9bc\x7f", "abc"),
        ("two\r\nlines\tapart", "two\nlines apart"),
    ],
)
@pytest.mark.usefixtures("viewer", "run")
def test_no_cell_steers_a_terminal(client: Client, comment: str, cell: str) -> None:
    AuditEntry.objects.filter(kind="decision").update(comment=comment)

    assert {row["comment"] for row in rows(client)} == {cell}
    told = faber("audit", "--csv").out
    assert not {char for char in told if unicodedata.category(char)[0] == "C"} - {"\n"}


@pytest.mark.usefixtures("viewer", "run")
def test_a_formula_in_a_comment_is_a_text_in_the_csv(client: Client) -> None:
    AuditEntry.objects.filter(kind="decision").update(comment="=cmd|' /C calc'!A1")

    assert {row["comment"] for row in rows(client)} == {"'=cmd|' /C calc'!A1"}


@pytest.mark.parametrize("path", ["/audit/", "/audit.csv", "/statistics/"])
def test_looking_back_is_for_those_who_are_signed_in(client: Client, path: str) -> None:
    response = client.get(path)

    assert (response.status_code, response["Location"]) == (302, f"/login/?next={path}")


@pytest.mark.usefixtures("viewer")
@pytest.mark.parametrize("path", ["/audit/", "/audit.csv", "/statistics/"])
def test_looking_back_only_looks(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405


@pytest.mark.usefixtures("viewer")
def test_the_account_stands_beside_a_name_that_anybody_can_set(client: Client) -> None:
    actor = replace(f.person("Linus", source=Source.CLI, method="git_config"), account="rita")
    f.answer(f.started(f.five_steps()), "reject", actor=actor)

    shown = text(client.get("/audit/"))

    assert "<strong>Linus</strong>" in shown
    assert "account rita" in shown


@pytest.mark.usefixtures("viewer")
def test_refused_attempts_are_shown_below_the_decisions(client: Client) -> None:
    run = f.started(f.five_steps())
    refusals.note(NotAllowed("Not you."), actor=f.person("Mallory"), what="x", run_id=run.run_id)

    assert "Not you." in text(client.get("/audit/"))
    only = text(client.get("/audit/", {"kind": "refusal"}))
    assert "<strong>Mallory</strong>" in only


def test_what_is_about_the_site_is_for_its_operators(client: Client) -> None:
    users.create("vera", role=Role.VIEWER, password="a long enough secret")
    client.post("/login/", {"username": "vera", "password": "a long enough secret"})

    assert "signed in" not in text(client.get("/audit/", {"kind": "sign_in"}))
    client.force_login(users.create("olga", role=Role.OPERATOR))
    assert "signed in with a password" in text(client.get("/audit/", {"kind": "sign_in"}))
