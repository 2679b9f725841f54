"""The list of runs and the page of one, as a browser sees them."""

import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from feedback.requests.answers import Words, respond
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role, Source
from runs.engine import starting
from runs.models import Event, Run, StepAttempt, StepOutput
from runs.models.live_output import LiveOutput
from runs.pages.lists import listing
from runs.pages.run import event_log, output, page
from tests import brokers, workers
from tests import factories as f

pytestmark = pytest.mark.django_db

LIST = {"HX-Request": "true", "HX-Target": "runs"}
LIVE = {"HX-Request": "true", "HX-Target": "live"}
PROGRESS = {"HX-Request": "true", "HX-Target": "progress"}


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return unescape(response.content.decode())


def squeezed(response: object) -> str:
    """The page with every stretch of white space as one space."""
    return " ".join(text(response).split())


def address(run: Run, more: str = "") -> str:
    return f"/runs/{run.run_id}/{more}"


@pytest.fixture
def operator(client: Client) -> User:
    user = users.create("olga", role=Role.OPERATOR)
    client.force_login(user)
    return user


@pytest.fixture
def reviewer(client: Client) -> User:
    user = users.create("rita", role=Role.REVIEWER)
    client.force_login(user)
    return user


@pytest.fixture
def run() -> Run:
    """A run that waits for a review after its second step."""
    return f.started(f.five_steps(), work_id="258")


def failed(run: Run) -> Run:
    Run.objects.filter(pk=run.pk).update(status="failed", error="The workspace is gone.")
    return f.fresh(run)


# The list


@pytest.mark.usefixtures("reviewer")
def test_lists_and_pages_of_runs_lead_with_titles_and_a_search_finds_them(client: Client) -> None:
    run = f.started(f.five_steps(), target="Export invoices", work_id="258")
    f.start(f.five_steps(), target="something else")

    listed = text(client.get("/runs/", {"q": "export inv"}))
    page = text(client.get(f"/runs/{run.run_id}/"))

    assert re.findall(r'class="row-link"[^>]*>([^<]*)<', listed) == ["Export invoices"]
    assert "Acme/App #258" in listed
    assert "<title>Export invoices · awaiting feedback · FABER</title>" in page
    assert re.search(r"<h1[^>]*>Export invoices</h1>", page)


@pytest.mark.usefixtures("reviewer")
def test_runs_are_found_by_id_work_id_project_and_status(client: Client, run: Run) -> None:
    other = f.started(f.workflow({"build": [f.step("x")]}), work_id="77")

    def found(**query: str) -> set[str]:
        shown = text(client.get("/runs/", query))
        return {each.run_id for each in (run, other) if each.run_id in shown}

    both = {run.run_id, other.run_id}
    assert found() == both
    assert found(q="258") == {run.run_id}
    assert found(q=other.short_id) == {other.run_id}
    assert found(q="#77") == {other.run_id}
    assert found(q="#7") == set()
    assert found(q="acme/app") == both
    assert found(q="SMALL") == both
    assert found(status="completed") == {other.run_id}
    assert found(status="nonsense") == both
    assert found(q="nowhere") == set()


@pytest.mark.usefixtures("reviewer")
def test_the_list_is_paged(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    second = f.started(f.five_steps(), work_id="258")
    monkeypatch.setattr(listing, "PER_PAGE", 1)

    first_page = text(client.get("/runs/", {"q": "258"}))

    assert second.run_id in first_page
    assert run.run_id not in first_page
    assert 'href="?q=258&page=2"' in first_page
    assert run.run_id in text(client.get("/runs/?q=258&page=2"))


@pytest.mark.usefixtures("reviewer")
def test_menus_narrow_the_list_together(client: Client, run: Run) -> None:
    other = f.started(f.workflow({"build": [f.step("x")]}, id="hotfix"))
    Run.objects.filter(pk=other.pk).update(
        started_by="Mei", created_at=timezone.now() - timedelta(days=9)
    )

    def found(**query: str) -> set[str]:
        shown = text(client.get("/runs/", query))
        return {name for name, each in (("run", run), ("other", other)) if each.run_id in shown}

    assert found(workflow="hotfix") == {"other"}
    assert found(by="Mei") == {"other"}
    assert found(by="Otto", workflow="small") == {"run"}
    assert found(by="Mei", workflow="small") == set()
    assert found(phase="architect") == {"run"}
    assert found(days="7") == {"run"}
    assert found(days="30") == {"run", "other"}
    assert found(project="Acme/App") == {"run", "other"}
    assert found(project="gone", by="nobody", days="soon") == {"run", "other"}


@pytest.mark.usefixtures("reviewer")
def test_the_chips_count_every_status_whichever_is_chosen(client: Client, run: Run) -> None:
    f.started(f.workflow({"build": [f.step("x")]}))

    for query in ({}, {"status": "completed"}, {"status": "awaiting_feedback"}):
        shown = squeezed(client.get("/runs/", query))

        assert 'All <span class="chip-count">2<' in shown
        assert 'Completed <span class="chip-count">1<' in shown
        assert 'Awaiting feedback <span class="chip-count">1<' in shown
    assert '<p class="count" id="found" role="status">1 run<' in shown
    assert 'Completed <span class="chip-count">' not in squeezed(
        client.get("/runs/", {"q": run.short_id})
    )


@pytest.mark.usefixtures("reviewer")
def test_the_list_hears_of_changes_and_only_of_them(client: Client, run: Run) -> None:
    same = client.get("/runs/", {"v": listing.newest()}, headers=LIST)
    engine.cancel(run.pk, reason="enough", actor=f.STARTER)
    news = client.get("/runs/", {"v": "1"}, headers=LIST)

    assert (same.status_code, news.status_code) == (204, 200)
    assert "Cancelled" in text(news)
    assert "<html" not in text(news)
    assert "HX-Push-Url" not in news


@pytest.mark.usefixtures("reviewer", "run")
def test_a_search_puts_what_was_chosen_and_no_more_into_the_address(client: Client) -> None:
    query = {"q": "258", "status": "", "project": "Acme/App"}

    response = client.get("/runs/", query, headers=LIST)

    assert response["HX-Push-Url"] == "/runs/?q=258&project=Acme/App"
    assert client.get("/runs/", {"q": ""}, headers=LIST)["HX-Push-Url"] == "/runs/"


@pytest.mark.usefixtures("reviewer")
def test_the_list_costs_the_same_for_many_runs(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        f.start(f.five_steps())

    with django_assert_max_num_queries(12):
        assert text(client.get("/runs/", {"q": "acme"})).count('class="row-link"') == 5


@pytest.mark.usefixtures("reviewer", "run")
def test_a_poll_without_news_reads_no_runs(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    version = listing.newest()

    with django_assert_max_num_queries(3):
        client.get("/runs/", {"v": version}, headers=LIST)


@pytest.mark.usefixtures("reviewer")
def test_an_empty_list_says_how_to_start_a_run(client: Client) -> None:
    assert "faber run demo" in text(client.get("/runs/"))


# The page


@pytest.mark.usefixtures("reviewer")
def test_the_page_tells_the_whole_story(client: Client, tmp_path: Path) -> None:
    review = {"requires_approval": True, "approval_type": "review"}
    spec = f.step("spec", "tests.steps:write_spec", artifact="specs/spec.md", **review)
    run = f.started(f.workflow({"architect": [spec], "build": [f.step("make")]}), tmp_path)
    run = f.answered(run, "request_changes", "Shorter, please.")
    run = f.answered(run, "approve")

    shown = text(client.get(address(run)))

    for words in (
        "completed",
        "On plan",
        "attempt 1: ",
        "attempt 2, revise: ",
        "2 of 2 steps",
        "make done",
        "<strong>Rita</strong> chose <strong>Request changes</strong> in the browser",
        "Shorter, please.",
        "<strong>Rita</strong> chose <strong>Approve</strong>",
        "revision 2",
        "artifact modify",
        "workflow complete",
        "Skipped: no steps.",
        "state.json",
        run.plan_hash,
        "for a decision</a>",
        f'href="{address(run, "files/2/specs/spec.md")}"',
        f'href="{address(run, "files/1/specs/spec.md")}"',
    ):
        assert words in shown
    assert "hx-trigger" not in shown


@pytest.mark.usefixtures("reviewer")
def test_a_waiting_run_links_to_its_request(client: Client, run: Run) -> None:
    shown = text(client.get(address(run)))

    assert f'href="/requests/{f.pending(run).request_id}/"' in shown
    assert '<li class="line-step" data-status="awaiting_feedback">' in shown


@pytest.mark.usefixtures("reviewer")
def test_what_the_running_step_prints_is_shown(client: Client) -> None:
    run = f.start(f.five_steps())
    claim = engine.claim(run.pk, "worker")
    assert claim
    LiveOutput(claim.attempt.pk).add(["12 of 40 files"])

    assert "12 of 40 files" in text(client.get(address(run)))
    assert "12 of 40 files" in text(client.get(address(run), {"v": ""}, headers=PROGRESS))


@pytest.mark.usefixtures("reviewer")
def test_a_run_that_left_its_plan_says_so(client: Client, run: Run) -> None:
    Event.objects.filter(run=run, type="step_complete", step="one").delete()

    shown = text(client.get(address(run)))

    assert "Deviated from plan" in shown
    assert "<strong>missing</strong>: frame:one" in shown
    assert "planned but never completed" in shown


@pytest.mark.usefixtures("reviewer")
def test_a_run_nobody_takes_up_says_what_is_missing(client: Client) -> None:
    run = f.start(f.five_steps())

    assert "No worker is running" in text(client.get(address(run)))
    workers.report()
    assert "No worker is running" not in text(client.get(address(run)))


@pytest.mark.usefixtures("reviewer")
@pytest.mark.parametrize("fragment", [{}, {"HX-Request": "true", "HX-Target": "progress"}])
def test_a_run_whose_job_no_broker_takes_says_so(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, fragment: dict[str, str]
) -> None:
    run = f.start(f.five_steps())
    brokers.use_none(settings, monkeypatch)

    shown = text(client.get(address(run), headers=fragment))

    assert "The broker of the job queue is out of reach." in shown
    assert "No worker is running" not in shown


@pytest.mark.usefixtures("reviewer")
def test_a_step_for_somebody_outside_does_not_lack_a_worker(client: Client) -> None:
    outside: dict[str, object] = {"id": "x", "remote": True}
    run = f.start(f.workflow({"build": [outside]}))

    shown = text(client.get(address(run)))

    assert "Waiting for a remote executor" in shown
    assert "No worker is running" not in shown


@pytest.mark.usefixtures("reviewer")
def test_only_the_newest_events_are_shown_until_all_are_asked_for(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "NEWEST", 2)

    few = text(client.get(address(run)))
    every = text(client.get(address(run), {"events": "all"}))

    assert few.count('class="chronicle-type"') == 2
    assert f"All {run.last_event_id} events" in few
    assert every.count('class="chronicle-type"') == run.last_event_id


@pytest.mark.usefixtures("reviewer")
def test_events_are_shown_by_kind(client: Client, run: Run) -> None:
    Event.objects.create(
        run=run, number=99, type="somebody_elses", timestamp=timezone.now(), document={}, hash="-"
    )

    def types(kind: str) -> set[str]:
        shown = text(client.get(address(run), {"kind": kind}))
        return set(re.findall(r'class="chronicle-type">([^<]+)<', shown))

    assert types("decisions") == {"decision point", "feedback request"}
    assert types("workflow") == {"workflow start"}
    assert types("other") == {"somebody elses"}
    assert types("nonsense") == types("") > types("steps")
    assert 'Decisions <span class="chip-count">2<' in text(client.get(address(run)))


@pytest.mark.usefixtures("reviewer")
def test_a_poll_keeps_the_kind_of_events_that_was_chosen(client: Client) -> None:
    run = f.start(f.five_steps())

    news = text(client.get(address(run), {"kind": "steps", "v": "old"}, headers=LIVE))

    assert f'hx-get="{address(run)}?kind=steps&v={page.version(run)}&steer=01"' in news
    assert 'id="kind-steps" href="?kind=steps#events-title" aria-current="true"' in news


@pytest.mark.usefixtures("reviewer")
def test_a_bar_is_as_wide_as_the_step_was_long(client: Client, run: Run) -> None:
    start = timezone.now()
    for step, seconds in (("one", 60), ("two", 15)):
        run.attempts.filter(step=step).update(
            started_at=start, finished_at=start + timedelta(seconds=seconds)
        )

    shown = text(client.get(address(run)))

    assert re.findall(r'<rect width="(\d+)" height="8"', shown) == ["1000", "250"]
    assert "1 min 15 s of work" in shown


@pytest.mark.usefixtures("reviewer")
def test_a_decision_tells_who_where_when_and_how_many_remarks(client: Client, run: Run) -> None:
    items = [{"path": "a", "line": 1, "body": "no"}, {"path": "a", "line": 2, "body": "why?"}]
    respond(
        f.pending(run).request_id,
        "request_changes",
        actor=f.person(source=Source.ISSUE_COMMENT),
        words=Words(comment="See below.", items=items),
    )

    shown = text(client.get(address(run)))

    assert "chose <strong>Request changes</strong> in an issue comment" in shown
    assert "2 line comments" in shown
    assert "See below." in shown


@pytest.mark.usefixtures("reviewer")
def test_the_page_is_followed_until_the_run_has_ended(client: Client) -> None:
    run = f.start(f.five_steps())

    running = client.get(address(run), {"v": "old"}, headers=LIVE)
    same = client.get(address(run), {"v": page.version(run)}, headers=LIVE)
    run = f.work(run)
    asking = client.get(address(run), {"v": "old"}, headers=LIVE)
    engine.cancel(run.pk, reason="enough", actor=f.STARTER)
    ended = client.get(address(run), {"v": "old"}, headers=LIVE)

    codes = [each.status_code for each in (running, same, asking, ended)]
    assert codes == [200, 204, 200, 286]
    assert 'hx-trigger="every 2s"' in text(running)
    assert 'hx-trigger="every 5s"' in text(asking)
    assert "hx-trigger" not in text(ended)
    assert "<html" not in text(ended)


@pytest.mark.usefixtures("reviewer")
def test_the_page_follows_through_the_undo_time(client: Client, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 30
    run = f.started(f.five_steps())
    before = page.version(run)

    f.answer(run, "approve")

    news = client.get(address(run), {"v": before}, headers=LIVE)
    assert "can still be undone" in text(news)
    assert 'hx-trigger="every 2s"' in text(news)
    beside = client.get(address(run), {"v": before}, headers={**LIVE, "HX-Target": "progress"})
    assert (beside.status_code, "every 2s" in text(beside)) == (200, True)


@pytest.mark.usefixtures("reviewer")
def test_a_half_written_reason_survives_until_the_buttons_change(client: Client) -> None:
    run = f.started(f.five_steps())
    shown = page.page_of(run, f.STARTER).steering

    news = client.get(address(run), {"v": "old", "steer": shown}, headers=LIVE)
    engine.cancel(run.pk, reason="enough", actor=f.STARTER)
    ended = client.get(address(run), {"v": "old", "steer": shown}, headers=LIVE)

    assert 'id="steer"' not in text(news)
    assert 'id="steer"' in text(ended)


@pytest.mark.usefixtures("reviewer")
def test_a_part_of_another_page_can_follow_the_run(client: Client, run: Run) -> None:
    shown = text(client.get(address(run), {"v": "old"}, headers=PROGRESS))

    assert 'id="progress"' in shown
    assert "Waiting for a decision" in shown
    assert "Events" not in shown


@pytest.mark.usefixtures("reviewer")
def test_the_page_costs_the_same_for_many_attempts_and_events(
    client: Client, run: Run, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(4):
        run = f.answered(run, "request_changes", "again")

    with django_assert_max_num_queries(19):
        client.get(address(run))


# Output and files


def with_output(run: Run, stdout: str = "", stderr: str = "") -> StepAttempt:
    attempt = run.attempts.get(step="one")
    StepOutput.objects.create(attempt=attempt, stdout=stdout, stderr=stderr)
    return attempt


@pytest.mark.usefixtures("reviewer")
def test_what_an_attempt_printed_is_a_link_away(client: Client, run: Run) -> None:
    attempt = with_output(run, "<b>compiled</b>", "1 warning")
    link = address(run, f"attempts/{attempt.pk}/output")

    shown = client.get(link)

    assert f'href="{link}"' in text(client.get(address(run)))
    assert b"&lt;b&gt;compiled&lt;/b&gt;" in shown.content
    assert "1 warning" in text(shown)
    for stream, printed_ in (("stdout", b"<b>compiled</b>"), ("stderr", b"1 warning")):
        saved = client.get(f"{link}/{stream}.txt")
        assert saved.content == printed_
        assert saved["Content-Disposition"] == f'attachment; filename="frame-one-1-{stream}.txt"'
        assert saved["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.usefixtures("reviewer")
def test_the_first_error_of_a_failed_attempt_is_shown_and_marked(client: Client, run: Run) -> None:
    attempt = with_output(run, "collecting\n\x1b[31mE   assert 0 == 1\x1b[0m\nbye")
    link = address(run, f"attempts/{attempt.pk}/output")
    assert "First error" not in text(client.get(link))  # it did not fail

    run.attempts.filter(pk=attempt.pk).update(result="failure")
    shown = client.get(link).content.decode()

    assert "standard output, line 2" in shown
    assert '<a href="#first-error">Show in output</a>' in shown
    marked = '<mark id="first-error"><span class="ansi-ink-1">E   assert 0 == 1</span></mark>'
    assert marked in shown


@pytest.mark.usefixtures("reviewer")
def test_a_long_output_is_cut_on_the_page_and_whole_in_the_download(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SHOWN_CHARACTERS", 10)
    attempt = with_output(run, "beginning and end")
    link = address(run, f"attempts/{attempt.pk}/output")

    shown = text(client.get(link))

    assert "<code>ng and end</code>" in shown
    assert "Showing the last 10 of 17 characters" in shown
    assert client.get(f"{link}/stdout.txt").content == b"beginning and end"


@pytest.mark.usefixtures("reviewer")
def test_the_output_of_a_running_step_is_followed_until_it_ends(client: Client) -> None:
    run = f.start(f.five_steps())
    claim = engine.claim(run.pk, "worker")
    assert claim
    LiveOutput(claim.attempt.pk).add(["12 of 40 files"])
    link = address(run, f"attempts/{claim.attempt.pk}/output")

    first = text(client.get(link))
    version = re.findall(r"\?v=([^\"]+)", first)[0]
    same = client.get(link, {"v": version}, headers={"HX-Request": "true"})
    engine.cancel(run.pk, reason="enough", actor=f.STARTER)
    ended = client.get(link, {"v": version}, headers={"HX-Request": "true"})

    assert "12 of 40 files" in first
    assert (same.status_code, ended.status_code) == (204, 286)
    assert "hx-trigger" not in text(ended)
    assert "<html" not in text(ended)


@pytest.mark.usefixtures("reviewer")
def test_output_that_is_not_there_is_not_found(client: Client, run: Run) -> None:
    attempt = run.attempts.get(step="one")
    other = f.started(f.five_steps())

    assert "No output" in text(client.get(address(run, f"attempts/{attempt.pk}/output")))
    for path in (f"attempts/{attempt.pk}/output/stdout.txt", "attempts/999999/output"):
        assert client.get(address(run, path)).status_code == 404
    assert client.get(address(other, f"attempts/{attempt.pk}/output")).status_code == 404


@pytest.mark.usefixtures("reviewer")
def test_a_revision_is_read_rendered_or_in_its_source(client: Client, tmp_path: Path) -> None:
    spec = f.step("spec", "tests.steps:write_spec", artifact="specs/spec.md")
    run = f.started(f.workflow({"build": [spec]}), tmp_path)
    link = address(run, "files/1/specs/spec.md")

    assert "Spec, attempt 1</h1>" in text(client.get(link))
    source = text(client.get(link, {"view": "source"}))
    assert "<code># Spec, attempt 1</code>" in source
    for other in ("files/9/specs/spec.md", "files/1/specs/%00", "files/1/spec.md"):
        assert client.get(address(run, other)).status_code == 404


@pytest.mark.usefixtures("reviewer")
def test_a_file_that_is_not_text_is_only_offered(client: Client, run: Run) -> None:
    run.revisions.create(path="a.bin", revision=1, sha256="0", size=3, content=b"a\0b")

    assert "This file is not text" in text(client.get(address(run, "files/1/a.bin")))


@pytest.mark.usefixtures("reviewer")
def test_state_json_is_the_seeds_document(client: Client, run: Run) -> None:
    response = client.get(address(run, "state.json"))

    assert response["Content-Type"] == "application/json"
    document = json.loads(response.content)
    assert (document["run_id"], document["status"]) == (run.run_id, "awaiting_feedback")


@pytest.mark.usefixtures("reviewer")
def test_every_revision_can_be_downloaded(client: Client, tmp_path: Path) -> None:
    spec = f.step("spec", "tests.steps:write_spec", artifact="specs/spec.md")
    run = f.started(f.workflow({"build": [spec]}), tmp_path)

    response = client.get(address(run, "artifacts/1/specs/spec.md"))

    assert response.content == b"# Spec, attempt 1\n"
    assert response["Content-Disposition"].startswith("attachment")
    for other in ("artifacts/9/specs/spec.md", "artifacts/1/specs/%00", "artifacts/1/spec.md"):
        assert client.get(address(run, other)).status_code == 404


@pytest.mark.usefixtures("reviewer")
def test_an_unknown_run_is_not_found(client: Client, run: Run) -> None:
    assert client.get(f"/runs/acme/app/{'0' * 8}-0000-0000-0000-{'0' * 12}/").status_code == 404
    assert client.get("/runs/acme/app/latest/").status_code == 404
    assert client.get(f"/runs/{run.run_id.upper()}/").status_code == 200


# Steering


@pytest.mark.usefixtures("operator")
def test_an_operator_cancels_with_a_reason(client: Client, run: Run) -> None:
    response = client.post(address(run, "cancel/"), {"reason": "duplicate of #7"})

    assert (response.status_code, response["Location"]) == (303, address(run))
    assert f.fresh(run).status == "cancelled"
    shown = text(client.get(address(run)))
    assert "duplicate of #7" in shown
    assert "Cancel run" not in shown


@pytest.mark.usefixtures("operator")
def test_cancelling_needs_a_reason(client: Client, run: Run) -> None:
    response = client.post(address(run, "cancel/"), {"reason": " "})

    assert response.status_code == 422
    assert "Enter a reason." in text(response)
    assert "<details open>" in text(response)
    assert f.fresh(run).status == "awaiting_feedback"


@pytest.mark.usefixtures("operator")
def test_a_finished_run_is_not_cancelled_again(client: Client, run: Run) -> None:
    client.post(address(run, "cancel/"), {"reason": "once"})

    response = client.post(address(run, "cancel/"), {"reason": "twice"})

    assert response.status_code == 409
    assert "The run is already cancelled." in text(response)


@pytest.mark.usefixtures("operator")
def test_only_a_stopped_run_is_resumed(client: Client, run: Run) -> None:
    refused = client.post(address(run, "resume/"))
    failed(run)
    offered = text(client.get(address(run)))
    done = client.post(address(run, "resume/"))

    assert refused.status_code == 409
    assert ">Resume</button>" in offered
    assert done.status_code == 303
    assert f.fresh(run).status == "in_progress"


@pytest.mark.usefixtures("reviewer")
def test_who_only_reviews_may_not_steer(client: Client, run: Run) -> None:
    for verb in ("cancel/", "resume/", "rerun/"):
        response = client.post(address(run, verb), {"reason": "because"})

        assert response.status_code == 403
        assert "operators and the person who started the run" in text(response)
    assert "Run again" not in text(client.get(address(run)))
    assert f.fresh(run).last_event_id == run.last_event_id


def test_the_page_shows_the_whole_chain_of_reruns(client: Client, reviewer: User) -> None:
    first = f.start(f.five_steps())
    second = f.start(f.five_steps(), rerun_of=first)
    third = f.start(f.five_steps(), rerun_of=second)

    for run in (first, second, third):
        shown = text(client.get(address(run)))
        chain = re.findall(r'<ol class="chain">(.*?)</ol>', shown, re.DOTALL)[0]
        assert re.findall(r'mono"[^>]*>(\w{8})<', chain) == [
            each.short_id for each in (first, second, third) if each != third or run != first
        ]


def test_whoever_started_a_run_may_run_it_again(
    client: Client, reviewer: User, tmp_path: Path
) -> None:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(f.five_steps()))
    wish = starting.Wish(workflow=str(file), workspace=tmp_path, project="acme/app", work_id="9")
    run, _ = starting.start(wish, users.actor_of(reviewer))

    response = client.post(address(run, "rerun/"))

    again = Run.objects.get(rerun_of=run)
    assert (response.status_code, response["Location"]) == (303, address(again))
    assert again.work_id == "9"
    assert again.short_id in text(client.get(address(run)))
    assert run.short_id in text(client.get(address(again)))


@pytest.mark.usefixtures("operator")
def test_a_run_whose_workspace_is_gone_is_not_run_again(client: Client, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = f.started(f.five_steps(), gone)
    gone.rmdir()

    response = client.post(address(run, "rerun/"))

    assert response.status_code == 409
    assert "no longer exists" in text(response)
    assert f'href="{address(run)}"' in text(response)


@pytest.mark.usefixtures("operator")
def test_looking_changes_nothing(client: Client, run: Run) -> None:
    for verb in ("cancel/", "resume/", "rerun/"):
        assert client.get(address(run, verb)).status_code == 405
    for path in ("", "state.json", "?events=all", "?kind=steps"):
        client.get(address(run, path))
        client.head(address(run, path))

    assert f.fresh(run).last_event_id == run.last_event_id
    assert (Run.objects.count(), StepAttempt.objects.count()) == (1, 2)


@pytest.mark.usefixtures("operator")
def test_news_bring_the_buttons_up_to_date_when_the_run_rests(client: Client, run: Run) -> None:
    engine.cancel(run.pk, reason="done with it", actor=f.STARTER)

    news = text(client.get(address(run), {"v": "old"}, headers=LIVE))

    assert re.search(r'id="steer"[^>]* hx-swap-oob="true"', news)
    assert "Cancel run" not in news


# When something is wrong


@pytest.mark.usefixtures("reviewer")
def test_a_page_that_breaks_says_so_in_the_same_clothes(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(listing, "listed", broken)
    client.raise_request_exception = False

    response = client.get("/runs/")

    assert response.status_code == 500
    assert "Something went wrong" in text(response)
    assert "secret detail" not in text(response)


@pytest.mark.usefixtures("reviewer")
def test_an_address_that_leads_nowhere_leads_back(client: Client) -> None:
    for path in ("/nowhere", "/requests/%00/", "/runs/a%00/b/"):
        response = client.get(path)

        assert response.status_code == 404
        assert "Go to inbox" in text(response)


@pytest.mark.usefixtures("reviewer")
def test_a_long_message_of_a_step_is_shown_whole_in_a_fold(client: Client) -> None:
    long = "It went like this. " + "word " * 300 + "THE END."
    said = {"response": {"status": "success", "message": long}}
    run = f.started(f.workflow({"build": [f.step("make", "tests.steps:say", arguments=said)]}))

    shown = squeezed(client.get(address(run)))

    assert f'<summary>Full message</summary> <p dir="auto">{long}</p>' in shown


@pytest.mark.usefixtures("reviewer")
def test_a_file_that_is_missing_is_named_at_its_step(client: Client, tmp_path: Path) -> None:
    run = f.started(f.workflow({"build": [f.step("make", artifact="gone.md")]}), tmp_path)

    assert run.status == "completed"
    assert "gone.md is missing from the workspace." in text(client.get(address(run)))
