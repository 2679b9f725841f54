"""What waits for somebody: its order, its filters, and what the page costs."""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.models.signals import pre_migrate
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from bench.ground import filling
from feedback.inbox import open_requests
from feedback.inbox.filters import FilterForm, Filters
from feedback.inbox.open_requests import Inbox
from feedback.models import FeedbackRequest
from feedback.search import sort_keys
from runs.accounts import users
from runs.accounts.membership import EVERYTHING, Sight
from runs.domain.values.actors import Role
from runs.domain.values.questions import FeedbackType
from runs.models import Project, Run, migrate
from runs.pages import kept
from tests import factories as f
from tests.plans import explained, read_whole
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
ROOT = Path(__file__).parents[3]


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def site(client: Client, rita: User) -> Client:
    """A browser in which Rita, a reviewer, is signed in."""
    client.force_login(rita)
    return client


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return unescape(response.content.decode())


def asks(prompt: str, *, project: str = "Acme/App", work_id: str = "", **fields: object) -> str:
    """An open request with these words; its id."""
    run = f.started(f.five_steps(), work_id=work_id)
    of = Project.objects.get_or_create(name=project)[0]
    Run.objects.filter(pk=run.pk).update(project=of)
    asked = FeedbackRequest.objects.filter(run=run)
    asked.update(prompt=prompt, project=of, **fields)
    return asked.get().request_id


def many(count: int) -> None:
    """That many open requests, without executing as many runs."""
    first = f.pending(f.started(f.five_steps()))
    run = first.run
    runs = []
    for _ in range(count - 1):
        run.pk, run.uuid = None, uuid4()
        run.run_id = f"acme/app/{run.uuid}"
        runs.append(Run(**{each.attname: getattr(run, each.attname) for each in run._meta.fields}))
    made = Run.objects.bulk_create(runs)
    requests = []
    for number, other in enumerate(made):
        first.pk, first.run_id, first.request_id = None, other.pk, f"fr-20260101-{number:06x}"
        values = {each.attname: getattr(first, each.attname) for each in first._meta.fields}
        requests.append(FeedbackRequest(**values))
    FeedbackRequest.objects.bulk_create(requests)


def prompts(page: str) -> list[str]:
    return re.findall(r'class="row-question"[^>]*>([^<]*)<', page)


def titles(page: str) -> list[str]:
    return re.findall(r'class="row-link"[^>]*>([^<]*)<', page)


def shown(site: Client, **query: str) -> list[str]:
    return prompts(text(site.get("/", query)))


def ago(**since: int) -> dict[str, Any]:
    moment = timezone.now() - timedelta(**since)
    return {"requested_at": moment, "ranked_at": moment, "steps_behind": 0}


# The order


def test_the_longest_waiting_comes_first(site: Client) -> None:
    asks("younger", **ago(hours=1))
    asks("older", **ago(hours=3))

    assert shown(site) == ["older", "younger"]


def test_a_step_that_waits_behind_counts_as_ten_minutes() -> None:
    with_four_behind = f.pending(f.started(f.five_steps()))
    with_none_behind = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:ask")]})))

    apart = with_none_behind.ranked_at - with_four_behind.ranked_at
    behind = with_four_behind.steps_behind - with_none_behind.steps_behind

    assert behind == 3
    assert timedelta(minutes=30) <= apart < timedelta(minutes=31)
    assert list(open_requests._open(EVERYTHING)) == [with_four_behind, with_none_behind]


def test_the_page_says_how_it_is_ordered(site: Client) -> None:
    asks("anything")

    by_due, by_cost = text(site.get("/")), text(site.get("/", {"sort": "cost"}))

    assert re.search(r'value=""\s+selected>Sort: due<', by_due)
    assert re.search(r'value="cost"\s+selected>Sort: cost<', by_cost)


def named(title: str, **fields: object) -> str:
    """An open request of a run with this title; its id."""
    request_id = asks(f"about {title}", **fields)  # type: ignore[arg-type]
    Run.objects.filter(requests__request_id=request_id).update(own_title=title)
    return request_id


def test_a_row_leads_with_the_title_and_tells_agent_round_and_cost(site: Client) -> None:
    named("Export invoices", agent="claude", round=2, max_rounds=3, cost_usd=0.4213)

    page = text(site.get("/"))

    assert titles(page) == ["Export invoices"]
    assert prompts(page) == ["about Export invoices"]
    assert "Round 2 of 3" in page
    assert re.search(r"</svg>claude</span>", page)
    assert ">$0.42<" in page


def test_a_row_tells_how_much_code_was_changed(site: Client, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("app.py", "def add(*numbers):\n    return sum(numbers)\n")
    repository.write("new.py", "one = 1\n")
    reviewed(repository)
    asks("Without any")

    page = " ".join(text(site.get("/", {"sort": "changes"})).split())

    assert '2 files <span data-tone="good">+3</span> <span data-tone="bad">−2</span>' in page
    assert page.count('title="Code changes"') == 1
    assert page.index("Code changes") < page.index("Without any")


def test_a_question_of_its_own_leads_its_row_and_the_work_follows(site: Client) -> None:
    run = f.started(f.workflow({"build": [f.step("x", "tests.steps:ask")]}), target="the export")

    page = text(site.get("/"))

    assert f.pending(run).title == "Which database?"
    assert (titles(page), prompts(page)) == (["Which database?"], ["the export"])


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["b", "C", "a"]),
        ("waiting", ["b", "C", "a"]),
        ("title", ["a", "b", "C"]),
        ("project", ["C", "b", "a"]),
        ("round", ["a", "b", "C"]),
        ("cost", ["C", "a", "b"]),
        ("nobody knows", ["b", "C", "a"]),
    ],
)
def test_the_address_says_what_stands_first(site: Client, sort: str, order: list[str]) -> None:
    named("a", project="Zoo/App", round=3, cost_usd=0.1, **ago(hours=1))
    named("b", project="Beta/App", round=2, **ago(hours=3))
    named("C", project="aardvark/App", cost_usd=2.5, **ago(hours=2))

    assert titles(text(site.get("/", {"sort": sort}))) == order


def test_an_order_is_kept_with_the_filters_and_hides_nothing(site: Client) -> None:
    named("a")

    whole = site.get("/", {"sort": "title"})
    chosen = site.get("/", {"sort": "title", "agent": ""}, headers=HTMX)

    assert "Clear filters" not in text(whole)
    assert "?type=review&sort=title" in text(whole)
    assert chosen["HX-Push-Url"] == "/?sort=title"


def test_the_inbox_is_narrowed_to_one_agent(site: Client) -> None:
    named("a", agent="claude")
    named("b", agent="codex")
    named("c")

    page = text(site.get("/", {"agent": "codex"}))

    assert titles(page) == ["b"]
    assert "1 of 3 open" in page
    assert re.search(r"<option>claude</option>\s*<option selected>codex</option>", page)


def test_where_no_agent_works_there_is_no_menu_of_agents(site: Client) -> None:
    named("a")

    assert re.search(r'id="agent"[^>]*\bhidden', text(site.get("/")))


@pytest.mark.parametrize("words", ["INVOICES", "database", "target of"])
def test_a_search_finds_titles(site: Client, words: str) -> None:
    asks("nothing alike")
    named("Export invoices")
    f.started(f.workflow({"build": [f.step("x", "tests.steps:ask")]}))
    Run.objects.filter(pk=f.started(f.five_steps()).pk).update(
        own_title="", target="A target of old"
    )

    assert len(titles(text(site.get("/", {"q": words})))) == 1


def test_a_row_tells_what_where_for_whom_how_long_and_how_much_waits(site: Client) -> None:
    asks(
        "Is this right?",
        project="Acme/Shop",
        work_id="258",
        type="clarification",
        reviewers=["rita", "group:leads"],
        **{**ago(hours=3), "steps_behind": 4},
    )

    page = text(site.get("/"))

    for words in ("Acme/Shop #258", "Architect → two", "Clarification", "for rita, leads"):
        assert words in page
    assert "3 h ago" in page
    assert "Blocks 4 steps" in page


def test_a_request_of_more_than_a_day_is_marked(site: Client) -> None:
    asks("young", **ago(hours=23))
    assert "data-overdue" not in text(site.get("/"))

    asks("old", **ago(hours=25))
    assert text(site.get("/")).count("data-overdue") == 1


# The filters


@pytest.fixture
def three(site: Client) -> Client:
    asks("Review the plan", project="Acme/Shop", work_id="258", **ago(hours=3))
    asks("It failed", type="error_resolution", phase="build", work_id="77", **ago(hours=2))
    asks("Choose one", type="selection", reviewers=["otto"], **ago(hours=1))
    return site


def test_requests_are_found_by_project_type_phase_and_text(three: Client) -> None:
    plan, failed, choose = "Review the plan", "It failed", "Choose one"

    assert shown(three) == [plan, failed, choose]
    assert shown(three, project="Acme/Shop") == [plan]
    assert shown(three, type="error_resolution") == [failed]
    assert shown(three, phase="architect") == [plan, choose]
    assert shown(three, q="the PLAN") == [plan]
    assert shown(three, q="#258") == [plan]
    assert shown(three, q="acme/shop") == [plan]
    assert shown(three, q=Run.objects.get(work_id="77").run_id[-12:]) == [failed]
    assert shown(three, phase="architect", type="selection") == [choose]
    assert shown(three, phase="release") == []


def test_a_filter_nobody_knows_filters_nothing(three: Client) -> None:
    assert len(shown(three, type="nonsense", phase="nonsense", page="nonsense")) == 3
    assert len(shown(three, q="\0")) == 3


def test_for_me_is_what_i_may_answer(three: Client, rita: User) -> None:
    asks("Rita decides", reviewers=["Rita"], **ago(minutes=5))
    asks("The leads decide", reviewers=["group:leads"], **ago(minutes=4))
    for_all = ["Review the plan", "It failed"]

    assert shown(three, mine="1") == [*for_all, "Rita decides"]
    rita.groups.add(Group.objects.create(name="leads"))
    assert shown(three, mine="1") == [*for_all, "Rita decides", "The leads decide"]


def test_for_me_leaves_out_what_i_answered_or_started(
    three: Client, rita: User, settings: Settings
) -> None:
    of_two = asks("Two must agree", quorum=2, **ago(minutes=5))
    f.answer(
        FeedbackRequest.objects.get(request_id=of_two).run,
        "approve",
        actor=users.actor_of(rita),
    )
    settings.FABER_SELF_APPROVAL = "refuse"
    Run.objects.filter(work_id="77").update(started_by_user=rita)

    assert "Two must agree" in shown(three)
    assert shown(three, mine="1") == ["Review the plan"]


def test_nothing_is_for_a_viewer(three: Client, client: Client) -> None:
    client.force_login(users.create("vic", role=Role.VIEWER))

    assert shown(client, mine="1") == []
    assert len(shown(client)) == 3


def test_what_others_must_answer_says_so(three: Client) -> None:
    page = text(three.get("/"))

    assert page.count("data-locked") == 1
    assert 'title="Only otto can answer this request."' in page


def test_filters_stay_in_the_form_the_chips_the_poll_and_the_pages(
    three: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_requests, "PER_PAGE", 1)

    page = text(three.get("/", {"q": "e", "project": "Acme/App", "mine": "", "page": "1"}))

    assert 'name="q" value="e"' in page
    assert "<option selected>Acme/App</option>" in page
    assert 'href="/?q=e&project=Acme%2FApp&type=selection"' in page
    assert re.search(r'hx-get="/\?q=e&project=Acme%2FApp&v=[\d-]+"', page)
    assert 'rel="next" href="?q=e&project=Acme%2FApp&mine=&page=2"' in page


def test_the_counts_are_of_all_of_what_is_shown_and_of_each_type(three: Client) -> None:
    everything = text(three.get("/"))
    filtered = text(three.get("/", {"phase": "architect", "type": "review"}))

    assert "3 open" in everything
    assert counts(everything) == {
        "All": "3",
        "Review": "1",
        "Error resolution": "1",
        "Selection": "1",
    }
    assert "1 of 3 open" in filtered
    assert counts(filtered) == {"All": "2", "Review": "1", "Selection": "1"}


def counts(page: str) -> dict[str, str]:
    chips = re.findall(r'class="chip" id=.*?</a>', page, re.DOTALL)
    told = [re.sub(r"<[^>]*>", "", chip.partition(">")[2]).split() for chip in chips]
    return {" ".join(words): count for *words, count in told}


def test_when_filters_hide_everything_the_page_offers_to_clear_them(three: Client) -> None:
    page = text(three.get("/", {"q": "nowhere"}))

    assert "No matching requests" in page
    assert "These filters hide 3 open requests." in page
    assert re.search(r'<a class="button" href="/">Clear filters</a>', page)
    assert "faber run demo" not in page


def test_an_empty_inbox_says_how_to_start_a_run(site: Client) -> None:
    page = text(site.get("/"))

    assert "0 open" in page
    assert "faber run demo" in page
    assert "Clear filters" not in page


def test_the_query_of_an_address_holds_only_what_filters() -> None:
    form = FilterForm({"q": " a&b ", "project": "", "type": "review", "mine": "on", "v": "1"})

    assert form.filters == Filters(q="a&b", type="review", mine=True)
    assert form.filters.query == "q=a%26b&type=review&mine=1"
    assert not Filters()


# What htmx asks for


def test_a_poll_changes_the_page_only_when_something_changed(three: Client) -> None:
    version = open_requests.version(EVERYTHING)

    same = three.get("/", {"q": "plan", "v": version}, headers=HTMX)
    asks("Another plan")
    news = three.get("/", {"q": "plan", "v": version}, headers=HTMX)

    assert (same.status_code, same.content) == (204, b"")
    assert prompts(text(news)) == ["Review the plan", "Another plan"]
    assert f"v={open_requests.version(EVERYTHING)}" in text(news)
    assert "<html" not in text(news)
    assert "HX-Push-Url" not in news.headers


def test_the_version_changes_when_one_goes_and_another_comes(three: Client) -> None:
    seen = {open_requests.version(EVERYTHING)}
    f.answer(Run.objects.get(work_id="258"), "approve")
    seen.add(open_requests.version(EVERYTHING))
    asks("Another")
    seen.add(open_requests.version(EVERYTHING))

    assert len(seen) == 3


def test_a_new_filter_is_a_new_address(three: Client) -> None:
    response = three.get(
        "/",
        {"q": "", "project": "Acme/Shop", "phase": ""},
        headers={**HTMX, "HX-Current-URL": "http://testserver/"},
    )

    assert response.headers["HX-Push-Url"] == "/?project=Acme%2FShop"


def test_typing_on_keeps_only_the_last_address(three: Client) -> None:
    at = {**HTMX, "HX-Current-URL": "http://testserver/?q=pl"}

    typed = three.get("/", {"q": "plan"}, headers=at)
    cleared = three.get("/", {"q": "plan", "phase": "build"}, headers=at)

    assert typed.headers["HX-Replace-Url"] == "/?q=plan"
    assert cleared.headers["HX-Push-Url"] == "/?q=plan&phase=build"


def test_the_words_around_the_list_come_with_it(three: Client) -> None:
    news = text(three.get("/", {"type": "selection"}, headers=HTMX))

    assert "<title>(3) Inbox · FABER</title>" in news
    assert '<p id="found" hx-swap-oob="innerHTML">1 of 3 open</p>' in news
    assert "<option>Acme/Shop</option>" in news
    assert re.search(r'id="open-count" class="badge"[^>]* hx-swap-oob="true"', news)
    assert "<span data-number>3</span>" in news


# What it costs


def test_the_page_costs_the_same_however_much_is_open(
    site: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    many(150)
    whole = [
        {},
        {"type": "review"},
        {"project": "Acme/App"},
        {"sort": "title"},
        {"sort": "cost", "agent": ""},
    ]
    site.get("/", {"q": "nothing"})

    for query in whole:
        with django_assert_num_queries(
            6
        ):  # session, user, groups, projects, what there is, a page of it
            assert len(prompts(text(site.get("/", query)))) == 50
    with django_assert_num_queries(10):  # whether it is in many, and what there is of each type
        site.get("/", {"q": "review"})
    with django_assert_num_queries(10):  # and who may answer which
        site.get("/", {"mine": "1"})
    version = open_requests.version(EVERYTHING)
    with django_assert_num_queries(5):  # session, user, groups, projects, what there is
        assert site.get("/", {"v": version}, headers=HTMX).status_code == 204


def test_no_plan_is_loaded(site: Client) -> None:
    many(3)

    with CaptureQueriesContext(
        connection,
    ) as made:
        site.get("/", {"mine": "1", "q": "review"})

    assert not [query for query in made if '"runs_run"."plan"' in query["sql"]]
    assert not [query for query in made if '"context"' in query["sql"]]


def test_pages_have_fifty_rows(site: Client) -> None:
    many(105)

    last = text(site.get("/", {"page": "3"}))

    assert len(prompts(last)) == 5
    assert "101–105 of 105" in last
    assert "page=3&v=" in last


def test_of_very_many_only_the_first_are_counted_and_the_page_says_so(
    site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_requests, "MOST", 60)
    many(63)
    asks("Only here", project="Acme/Shop", type="selection", due_at=timezone.now())
    before = open_requests.version(EVERYTHING)

    page = text(site.get("/"))
    shop = text(site.get("/", {"project": "Acme/Shop"}))

    assert "60+ open" in page
    assert "51–60 of 60" in text(site.get("/", {"page": "2"}))
    assert counts(page) == {"All": "61+", "Review": "60+", "Selection": "1"}
    assert "Acme/Shop</option>" in page
    assert prompts(shop) == ["Only here"]
    assert "1 of 60+ open" in shop

    asks("The newest of all")

    assert open_requests.version(EVERYTHING) != before
    known = {"v": open_requests.version(EVERYTHING)}
    assert site.get("/", known, headers=HTMX).status_code == 204
    assert site.get("/", {**known, "sort": "title"}, headers=HTMX).status_code == 200


@pytest.mark.database
def test_no_page_of_the_inbox_reads_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_requests, "MOST", 60)
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(3000, waiting_each=3)
    rita = f.person("Rita", groups=frozenset({"reviewer"}))
    some = Sight(hidden=frozenset({Project.objects.get(name="acme/app-7").pk}))
    looks = [Filters(), Filters(type="review"), Filters(type="selection"), Filters(sort="waiting")]

    with CaptureQueriesContext(connection) as queries:
        for sight in (EVERYTHING, some):
            open_requests.waiting(sight)
            for filters in looks:
                open_requests.inbox(filters, rita, sight)
                open_requests.inbox(filters, rita, sight, "2")
        open_requests.inbox(Filters(mine=True), rita, EVERYTHING)

    assert list(read_whole(queries, "faber_feedback_feedbackrequest")) == []
    assert list(read_whole(queries, "faber_runs_run")) == []


@pytest.mark.parametrize("name", ["acme/app-7", "acme/none"])
def test_the_inbox_of_one_project_reads_only_that_project(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite; PostgreSQL chooses among the same indexes by what it knows of the rows."""
    monkeypatch.setattr(open_requests, "MOST", 60)
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(3000, waiting_each=3)
    rita = f.person("Rita", groups=frozenset({"reviewer"}))

    with CaptureQueriesContext(connection) as queries:
        open_requests.inbox(Filters(project=name), rita, EVERYTHING)

    about = [query["sql"] for query in queries if f"'{name}'" in query["sql"]]
    assert len(about) == (2 if name == "acme/app-7" else 1)  # the counts, then a page
    for sql, index in zip(about, ["types_of_project", "requests_of_project"], strict=False):
        assert f"INDEX {index}" in explained(sql)
        assert "requests_by_" not in explained(sql)


@pytest.mark.database
@pytest.mark.parametrize("sort", ["title", "project", "round", "cost"])
def test_the_inbox_in_another_order_reads_no_more_than_a_page(
    sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_requests, "MOST", 60)
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(1000, waiting_each=3)
    rita = f.person("Rita", groups=frozenset({"reviewer"}))

    with CaptureQueriesContext(connection) as queries:
        found = open_requests.inbox(Filters(sort=sort), rita, EVERYTHING)

    assert len(found.rows) == 50
    assert list(read_whole(queries, "faber_feedback_feedbackrequest")) == []
    lists = [query["sql"] for query in queries if '"round"' in query["sql"]]
    assert len(lists) == 1
    assert "request.status = 'pending'" in lists[0]  # bound alone, it need not find the index
    if connection.vendor == "sqlite":
        assert f"INDEX requests_by_{sort} (status=?)" in explained(lists[0])
        assert "TEMP B-TREE" not in explained(lists[0])


# What it is sorted by


def keys(request_id: str) -> tuple[str | None, str | None]:
    found = FeedbackRequest.objects.values_list("title_key", "project_key")
    return found.get(request_id=request_id)


@pytest.mark.database
def test_what_a_request_is_sorted_by_follows_what_it_and_others_are_called() -> None:
    asked = f.pending(f.started(f.five_steps(), target="The Export"))
    run, name = asked.run, asked.request_id
    assert keys(name) == (asked.title.lower(), run.project.name.lower())

    Run.objects.filter(pk=run.pk).update(own_title="", target="An Older Target")
    assert keys(name)[0] == "an older target"
    Run.objects.filter(pk=run.pk).update(target="")
    assert keys(name)[0] == run.workflow_id.lower()
    Run.objects.filter(pk=run.pk).update(own_title="A Name")
    assert keys(name)[0] == "a name"
    FeedbackRequest.objects.update(own_title="A Question")
    assert keys(name)[0] == "a question"
    Project.objects.filter(pk=run.project_id).update(name="Moved/There")
    assert keys(name)[1] == "moved/there"


@pytest.mark.database
def test_a_question_that_is_open_again_is_sorted_by_what_it_is_called_now() -> None:
    asked = f.pending(f.started(f.five_steps()))
    FeedbackRequest.objects.update(status="answered", closed_at=timezone.now())
    Run.objects.update(own_title="Called Otherwise")
    assert keys(asked.request_id)[0] != "called otherwise"

    FeedbackRequest.objects.update(status="pending", closed_at=None)

    assert keys(asked.request_id)[0] == "called otherwise"


def test_an_upgrade_does_without_what_keeps_the_order_and_sorts_afterwards() -> None:
    asked = f.pending(f.started(f.five_steps()))
    plain = {"using": "default", "sender": apps.get_app_config("faber_feedback")}

    pre_migrate.send(**plain, plan=[object()])
    Run.objects.update(own_title="Changed Meanwhile")
    assert keys(asked.request_id)[0] != "changed meanwhile"
    call_command("migrate", verbosity=0)
    assert keys(asked.request_id)[0] == "changed meanwhile"

    Run.objects.update(own_title="And Kept Again")
    assert keys(asked.request_id)[0] == "and kept again"


@pytest.mark.database
def test_an_upgrade_that_was_cut_off_is_made_whole_by_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, keeper = f.pending(f.started(f.five_steps())), sort_keys.SortKeys()
    tables = [*(["faber_feedback_feedbackrequest"] * 2), "faber_runs_run", "faber_runs_project"]
    with connection.cursor() as cursor:
        for name, table in zip(keeper.names, tables, strict=True):
            on = f" ON {table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER {name}{on}")
    Run.objects.update(own_title="Changed Meanwhile")

    with monkeypatch.context() as dying:
        dying.setattr(sort_keys, "_AGAIN", "UPDATE nowhere SET x = 1")
        with pytest.raises(DatabaseError):
            migrate.bring_up_to_date()
    assert not keeper.are_there("default")
    migrate.bring_up_to_date()

    assert keys(asked.request_id)[0] == "changed meanwhile"
    Run.objects.update(own_title="And Kept Again")
    assert keys(asked.request_id)[0] == "and kept again"


def test_a_start_without_an_upgrade_leaves_the_order_alone() -> None:
    f.pending(f.started(f.five_steps()))

    with CaptureQueriesContext(connection) as queries:
        call_command("migrate", verbosity=0)
        migrate.bring_up_to_date()

    written = [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
    assert [sql for sql in written if "own_title = own_title" in sql] == []


# What is kept of it


def rendered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was read for pages that were made, from now on."""
    made: list[object] = []
    read = open_requests.inbox

    def reading(*asked: object, **more: object) -> Inbox:
        made.append(asked)
        return read(*asked, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(open_requests, "inbox", reading)
    monkeypatch.setattr(kept, "SECONDS", 10**9)
    return made


def test_a_page_that_would_show_the_same_is_not_made_again(
    three: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rendered(monkeypatch)
    first, second = (three.get("/") for _ in range(2))

    assert len(made) == 1
    token = re.compile(rb'name="csrfmiddlewaretoken" value="(\w{64})"')
    assert token.sub(b"", first.content) == token.sub(b"", second.content)
    assert len(token.findall(first.content)) == len(token.findall(second.content)) == 2
    assert second.headers["Cache-Control"] == first.headers["Cache-Control"]


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "Another question"},
        {"assignee": "mei"},
        {"reviewers": ["mei"]},
        {"status": "cancelled"},
        {"due_at": timezone.now()},
        {"cost_usd": 3.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_page_is_made_again_when_anything_on_it_changed(
    three: Client, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    made = rendered(monkeypatch)
    before = text(three.get("/"))
    FeedbackRequest.objects.filter(prompt="Review the plan").update(**change)

    assert text(three.get("/")) != before
    assert len(made) == 2


def test_nobody_is_shown_the_page_of_somebody_else(
    three: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rendered(monkeypatch)
    three.get("/")
    mei = Client()
    mei.force_login(users.create("mei", role=Role.VIEWER))

    assert "Signed in as <strong>mei</strong>" in text(mei.get("/"))
    Group.objects.get(name=Role.REVIEWER).user_set.clear()
    three.get("/")
    three.cookies["theme"] = "dark"
    assert 'data-theme="dark"' in text(three.get("/"))
    assert len(made) == 4


# What comes next


def test_the_next_one_is_the_highest_ranked_that_this_person_may_answer(three: Client) -> None:
    answered = FeedbackRequest.objects.get(prompt="Review the plan")
    rita = f.person("Rita")

    after = open_requests.following(answered, rita)
    assert after
    assert after.prompt == "It failed"
    after_that = open_requests.following(after, f.person("Otto"))
    assert after_that == answered
    assert open_requests.following(answered, f.person("Vic", groups=frozenset({"viewer"}))) is None


def test_the_next_one_follows_the_order_of_the_list(three: Client) -> None:
    asks("Review it again", **ago(minutes=1))
    FeedbackRequest.objects.filter(prompt="Review it again").update(round=9)
    answered, rita = FeedbackRequest.objects.get(prompt="Review the plan"), f.person("Rita")

    longest_waiting = open_requests.following(answered, rita)
    latest_round = open_requests.following(answered, rita, Filters(sort="round"))

    assert longest_waiting
    assert latest_round
    assert longest_waiting.prompt == "It failed"
    assert latest_round.prompt == "Review it again"


def test_the_next_one_is_found_behind_many_for_others() -> None:
    many(150)
    FeedbackRequest.objects.update(reviewers=["otto"])
    mine = asks("For Rita", reviewers=["rita"])
    other = FeedbackRequest.objects.exclude(request_id=mine)[0]

    found = open_requests.following(other, f.person("Rita"))

    assert found
    assert found.request_id == mine


# The look


def test_the_bar_counts_what_is_open_on_every_page(three: Client) -> None:
    for address in ("/", "/runs/"):
        page = text(three.get(address))
        assert "<span data-number>3</span>" in page, address
        assert 'href="/favicon/3.svg"' in page, address
        assert f'data-v="{open_requests.version(EVERYTHING)}"' in page, address


def test_a_page_asks_what_is_open_and_hears_nothing_when_it_knows(three: Client) -> None:
    news = three.get("/waiting/", {"v": "0-0-0"}).json()
    assert news == {"count": 3, "shown": "3", "version": open_requests.version(EVERYTHING)}
    assert three.get("/waiting/", {"v": news["version"]}).status_code == 204

    asks("A fourth")

    assert three.get("/waiting/", {"v": news["version"]}).json()["count"] == 4


def test_asking_what_is_open_takes_one_statement(
    three: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        open_requests.waiting(EVERYTHING)


@pytest.mark.parametrize(("count", "shown"), [(0, None), (3, "3"), (12, "9+")])
def test_the_icon_of_a_tab_shows_the_number(client: Client, count: int, shown: str | None) -> None:
    response = client.get(f"/favicon/{count}.svg")

    assert response.headers["Content-Type"] == "image/svg+xml"
    assert re.findall(r"<text.*>(.+)</text>", text(response)) == ([shown] if shown else [])


def test_a_theme_is_kept_in_a_cookie_and_rendered_by_the_server(site: Client) -> None:
    assert "data-theme" not in text(site.get("/"))

    chosen = site.post("/theme/", {"theme": "dark", "next": "/runs/"})
    assert (chosen.status_code, chosen.headers["Location"]) == (303, "/runs/")
    assert chosen.cookies["theme"]["samesite"] == "Lax"
    assert '<html lang="en" data-theme="dark">' in text(site.get("/"))

    site.post("/theme/", {"theme": "system", "next": "https://elsewhere.example/"})
    assert "data-theme" not in text(site.get("/"))


def test_a_theme_never_leads_to_another_site(site: Client) -> None:
    for elsewhere in ("https://elsewhere.example/", "//elsewhere.example", ""):
        response = site.post("/theme/", {"theme": "dark", "next": elsewhere})
        assert response.headers["Location"] == "/"


def test_with_htmx_a_new_theme_leaves_the_page_as_it_is(site: Client) -> None:
    response = site.post("/theme/", {"theme": "light"}, headers=HTMX)

    assert response.status_code == 204
    assert response.headers["HX-Trigger"] == '{"theme": {"name": "light"}}'


def test_pages_that_name_no_icon_find_one(client: Client) -> None:
    response = client.get("/favicon.ico")

    assert (response.status_code, response.headers["Location"]) == (302, "/static/favicon.svg")


def icon_names() -> Iterator[tuple[str, str]]:
    for template in (ROOT / "templates").rglob("*.html"):
        for name in re.findall(r'{% icon "([\w-]+)"', template.read_text()):
            yield template.name, name


def test_every_icon_that_is_named_is_in_the_sprite() -> None:
    sprite = (ROOT / "static/icons.svg").read_text()
    known = set(re.findall(r'<symbol id="([\w-]+)"', sprite))

    assert [(where, name) for where, name in icon_names() if name not in known] == []


@pytest.mark.parametrize("kind", list(FeedbackType))
def test_every_type_has_an_icon(site: Client, kind: FeedbackType) -> None:
    sprite = (ROOT / "static/icons.svg").read_text()
    asks("anything", type=kind.value)

    used = re.search(r'row-icon.*?icons\.svg#([\w-]+)"', text(site.get("/")), re.DOTALL)

    assert used
    assert f'<symbol id="{used[1]}"' in sprite


# Time


def test_what_is_due_first_stands_first_and_what_is_late_is_marked(site: Client) -> None:
    now = timezone.now()
    asks("whenever", ranked_at=now - timedelta(days=9))
    asks("soon", due_at=now + timedelta(hours=2, minutes=5), on_timeout="reject")
    asks("late", due_at=now - timedelta(hours=3, minutes=5))

    page = text(site.get("/"))

    assert prompts(page) == ["late", "soon", "whenever"]
    shown = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "Late: due 3 h ago" in shown
    assert re.search(r"Due in 2 h [45] min", shown)
    assert "Then reject is taken" in page
    assert prompts(text(site.get("/", {"sort": "waiting"}))) == ["whenever", "soon", "late"]


def test_only_what_is_late_can_be_listed(site: Client) -> None:
    now = timezone.now()
    asks("whenever")
    asks("soon", due_at=now + timedelta(hours=2))
    asks("late", due_at=now - timedelta(hours=3))

    page = text(site.get("/", {"late": "1"}))

    assert prompts(page) == ["late"]
    assert "1 of 3 open" in page


def test_the_next_request_is_the_one_that_is_due_first(rita: User) -> None:
    now = timezone.now()
    first = FeedbackRequest.objects.get(request_id=asks("whenever"))
    asks("later", due_at=now + timedelta(hours=2))
    soon = asks("soon", due_at=now + timedelta(hours=1))

    following = open_requests.following(first, users.actor_of(rita))

    assert following
    assert following.request_id == soon
