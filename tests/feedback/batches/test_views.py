"""The desk of a batch: what is shown, what is sent, and what stays on the page."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from feedback.batches import aggregate
from feedback.batches import page as batch_desk
from feedback.batches.news import version_of
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Batch, Run
from tests import batches as b
from tests import brokers
from tests import factories as f

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def client(rita: User) -> Client:
    client = Client()
    client.force_login(rita)
    return client


@pytest.fixture
def batch() -> Batch:
    return b.new_batch()


def test_rows_lead_with_the_titles_of_their_runs(client: Client, batch: Batch) -> None:
    run = b.asks(batch, "review", "101")
    Run.objects.filter(pk=run.pk).update(own_title="Export invoices")

    page = unescape(client.get(address(batch)).content.decode())

    assert re.search(r'class="row-link"[^>]*>Export invoices<', page)
    assert f.pending(run).prompt in page


def test_a_batch_that_stands_still_says_what_is_missing(
    client: Client, batch: Batch, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    b.going(batch, "130")

    assert "No worker is running." in client.get(address(batch)).content.decode()
    brokers.use_none(settings, monkeypatch)
    page = client.get(address(batch)).content.decode()

    assert "The broker of the job queue is out of reach." in page
    assert "No worker is running." not in page


def test_only_options_that_a_key_chooses_show_one(client: Client, batch: Batch) -> None:
    run = b.asks(batch, "selection", "101")
    twelve = [{"value": f"v{number}", "action": "continue"} for number in range(1, 13)]
    FeedbackRequest.objects.filter(run=run).update(options=twelve)

    page = client.get(address(batch)).content.decode()

    assert re.findall(r'<kbd class="needs-keys" aria-hidden="true">(\d+)</kbd>', page) == [
        str(number) for number in range(1, 10)
    ]
    assert "v12" in page


def test_the_legend_says_that_a_key_goes_to_the_button(client: Client, batch: Batch) -> None:
    b.asks(batch, "approval", "101")

    assert "apply to similar s go to send ?" in text_of(client.get(address(batch)))


@pytest.mark.parametrize(("more", "name"), [("", "comment-1"), ("", "card-2"), ("paste/", "text")])
def test_a_session_that_ended_costs_no_words_of_a_batch(
    client: Client, batch: Batch, more: str, name: str
) -> None:
    client.logout()

    response = client.post(address(batch, more), {name: "since it is safe", "choice-1": "approve"})

    assert response.status_code == 401
    assert "since it is safe" in response.content.decode()


def address(batch: Batch, more: str = "") -> str:
    return f"/batches/{batch.batch_id}/{more}"


def key(run: Run) -> str:
    return f.pending(run).request_id


def seals(*runs: Run) -> str:
    return " ".join(f"{key(run)}={f.pending(run).seal}" for run in runs)


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))


def rows_in(response: Any) -> list[str]:
    return re.findall(r'<li class="row batch-row" id="row-([0-9a-f-]+)"', response.content.decode())


def answers(run: Run) -> list[str]:
    return list(
        FeedbackResponse.objects.filter(request__run=run).values_list("response", flat=True)
    )


def test_a_row_for_every_run_and_those_that_ask_first(batch: Batch, client: Client) -> None:
    runs = b.twelve(batch)
    b.set_branch(runs["100"], "feat/100-csv")

    response = client.get(address(batch))

    assert response.status_code == 200
    shown = rows_in(response)
    assert sorted(shown) == sorted(str(run.uuid) for run in runs.values())
    open_ones = {str(runs[str(n)].uuid) for n in (*range(100, 106), 120, 121)}
    assert set(shown[:8]) == open_ones
    words = text_of(response)
    assert "feat/100-csv" in words
    assert "3 completed" in words
    assert "1 in progress" in words
    assert "Build → ask" in words


def test_the_choices_of_many_rows_are_sent_at_once(batch: Batch, client: Client) -> None:
    first, second, third = (b.asks(batch, "review", str(n)) for n in range(3))

    response = client.post(
        address(batch),
        {
            f"choice-{key(first)}": "approve",
            f"choice-{key(second)}": "request_changes",
            f"comment-{key(second)}": "Shorter.",
            f"choice-{key(third)}": "",
            "seals": seals(first, second, third),
        },
    )

    assert response.status_code == 303
    assert response["Location"] == address(batch, "?sent=2")
    assert [answers(run) for run in (first, second, third)] == [
        ["approve"],
        ["request_changes"],
        [],
    ]
    assert FeedbackResponse.objects.get(response="request_changes").comment == "Shorter."
    assert {row.source for row in FeedbackResponse.objects.all()} == {"parallel_coordination"}
    assert "2 answers recorded." in text_of(client.get(response["Location"]))


def test_what_was_refused_stays_on_the_page_with_its_words(batch: Batch, client: Client) -> None:
    good, bad = (b.asks(batch, "review", str(n)) for n in range(2))

    response = client.post(
        address(batch),
        {
            f"choice-{key(good)}": "approve",
            f"choice-{key(bad)}": "request_changes",
        },
    )

    assert response.status_code == 200
    assert "1 recorded, 1 failed: Run #1: Say what should change" in text_of(response)
    assert (answers(good), answers(bad)) == (["approve"], [])
    choice = rf'name="choice-{key(bad)}" value="request_changes" checked'
    assert re.search(choice, response.content.decode())


def test_a_comment_without_a_choice_is_not_lost(batch: Batch, client: Client) -> None:
    run = b.asks(batch, "approval", "1")

    response = client.post(address(batch), {f"comment-{key(run)}": "Looks good & fine"})

    assert response.status_code == 422
    assert "select an option" in text_of(response)
    assert 'value="Looks good &amp; fine"' in response.content.decode()
    assert answers(run) == []


def test_sending_nothing_says_so(batch: Batch, client: Client) -> None:
    b.asks(batch, "approval", "1")

    response = client.post(address(batch), {})

    assert response.status_code == 422
    assert "Nothing to send" in text_of(response)


def test_the_same_for_all_of_a_kind_is_filled_in_and_not_sent(batch: Batch, client: Client) -> None:
    runs = [b.asks(batch, "approval", str(n)) for n in range(3)]
    other = b.asks(batch, "review", "9")
    shown = batch_desk.desk_of(batch, users.actor_of(User.objects.get()))
    (kind,) = shown.kinds
    assert (kind.label, kind.count) == ("Approval", 3)

    response = client.post(
        address(batch),
        {"fill": f"{kind.key}:approve", f"comment-{key(runs[0])}": "Kept"},
    )

    page = response.content.decode()
    assert response.status_code == 200
    for run in runs:
        assert f'name="choice-{key(run)}" value="approve" checked' in page
    assert f'name="choice-{key(other)}" value="approve" checked' not in page
    assert 'value="Kept"' in page
    assert not FeedbackResponse.objects.exists()


def test_an_answer_goes_to_the_request_that_was_seen_and_not_to_a_newer_one(
    batch: Batch, client: Client
) -> None:
    run = b.asks(batch, "error_resolution", "1")
    seen = key(run)
    f.answered(run, "retry")
    assert key(run) != seen

    response = client.post(address(batch), {f"choice-{seen}": "abort"})

    assert response.status_code == 422
    assert "Run #1 is already answered: Rita chose Retry just now" in text_of(response)
    assert "UTC" not in text_of(response)
    assert answers(run) == ["retry"]
    assert f.fresh(run).status == "awaiting_feedback"


def test_a_seal_that_is_not_the_current_one_is_stale(batch: Batch, client: Client) -> None:
    run = b.asks(batch, "approval", "1")

    response = client.post(
        address(batch), {f"choice-{key(run)}": "approve", "seals": f"{key(run)}=other"}
    )

    assert "changed since you opened it" in text_of(response)
    assert answers(run) == []


def test_a_failed_run_is_retried_by_those_who_may(batch: Batch, client: Client, rita: User) -> None:
    run = b.failed(batch, "1")
    assert "Only operators and" in text_of(client.get(address(batch)))
    assert client.post(address(batch), {f"choice-{run.uuid}": "retry"}).status_code == 422
    assert f.fresh(run).status == "failed"

    users.set_role(rita, Role.OPERATOR)
    assert client.post(address(batch), {f"choice-{run.uuid}": "retry"}).status_code == 303
    assert f.fresh(run).status == "in_progress"


def test_one_card_answers_the_runs_that_are_ticked(batch: Batch, client: Client) -> None:
    runs = [b.asks(batch, "clarification", str(n)) for n in range(4)]
    other = b.asks(batch, "clarification", "9", prompt="Which colour?")
    shown = batch_desk.desk_of(batch, users.actor_of(User.objects.get()))
    (card,) = shown.cards
    assert [tick.row.run.pk for tick in card.ticks] == [run.pk for run in runs]

    response = client.post(
        address(batch),
        {
            f"card-{card.key}": "PostgreSQL 18",
            f"in-{card.key}": [key(runs[0]), key(runs[1]), key(runs[3]), key(other)],
            f"comment-{key(runs[3])}": "SQLite",
            "seals": seals(*runs),
        },
    )

    assert response.status_code == 303
    assert [answers(run) for run in (*runs, other)] == [
        ["PostgreSQL 18"],
        ["PostgreSQL 18"],
        [],
        ["SQLite"],
        [],
    ]


def test_a_pasted_text_is_carried_out_and_its_bad_lines_stay(batch: Batch, client: Client) -> None:
    first, second = (b.asks(batch, "approval", str(n)) for n in (1, 2))

    response = client.post(
        address(batch, "paste/"), {"text": "#1: approve\r\n#9: approve\r\n#2: perhaps"}
    )

    assert response.status_code == 200
    assert (answers(first), answers(second)) == (["approve"], [])
    page = response.content.decode()
    assert ">\n#9: approve\n#2: perhaps</textarea>" in page
    assert "This batch has no run" in page
    assert client.post(address(batch, "paste/"), {"text": "all: approve"}).status_code == 303


def test_more_rows_than_a_form_can_send_are_shown_later(
    batch: Batch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_desk, "MOST_OPEN", 2)
    runs = [b.asks(batch, "approval", str(n)) for n in range(4)]
    done = b.done(batch, "9")

    response = client.get(address(batch))

    assert rows_in(response) == [str(run.uuid) for run in (*runs[:2], done)]
    assert "2 more need a decision and appear once" in text_of(response)


def test_who_may_only_look_sees_no_options(batch: Batch) -> None:
    b.asks(batch, "approval", "1")
    client = Client()
    client.force_login(users.create("vera", role=Role.VIEWER))

    response = client.get(address(batch))

    assert 'type="radio"' not in response.content.decode()
    assert "Send answers" not in text_of(response)
    assert "Only reviewers and operators can answer." in text_of(response)


def test_news_is_only_what_changed(batch: Batch, client: Client) -> None:
    runs = [b.asks(batch, "approval", str(n)) for n in range(3)]
    quiet = Run.objects.filter(batch=batch).exclude(pk=runs[1].pk)
    quiet.update(updated_at="2026-01-01T00:00:00Z")
    version = version_of(batch)

    still = client.get(address(batch, f"?v={version}"), headers=HTMX)
    assert (still.status_code, still.content) == (204, b"")

    f.answer(runs[1], "approve", actor=f.person("Otto"))
    news = client.get(address(batch, f"?v={version}"), headers=HTMX)

    assert news.status_code == 200
    assert rows_in(news) == [str(runs[1].uuid)]
    assert "Otto chose Approve" in text_of(news)
    assert "2 awaiting feedback" in text_of(news)
    assert 'hx-swap-oob="true"' in news.content.decode()
    assert "<html" not in news.content.decode()


def test_polling_ends_with_the_last_run(batch: Batch, client: Client) -> None:
    b.done(batch, "1")

    assert client.get(address(batch, "?v=0"), headers=HTMX).status_code == 286
    assert "every 3s" not in client.get(address(batch)).content.decode()


@pytest.mark.parametrize("version", ["", "x", "9" * 40 + "-1-1", "1-1-1"])
def test_a_version_nobody_made_shows_everything(batch: Batch, client: Client, version: str) -> None:
    b.asks(batch, "approval", "1")

    assert client.get(address(batch, f"?v={version}"), headers=HTMX).status_code == 200


def test_the_prompt_is_plain_text(batch: Batch, client: Client) -> None:
    b.asks(batch, "approval", "1")

    response = client.get(address(batch, "prompt/"))

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == aggregate.prompt(batch)
    assert b"<pre" in client.get(address(batch, "prompt/"), headers=HTMX).content


def test_a_row_shows_its_questions_and_the_files_it_lacks(batch: Batch, client: Client) -> None:
    questions = [{"question": "Which one?", "options": ["a", "b"]}, "How many?"]
    b.asks(batch, "clarification", "x1", context={"questions": questions})
    lacks = [{"path": "x.md", "problem": "missing", "message": "x.md is missing."}]
    b.asks(batch, "review", "x2", context={"artifact_problems": lacks})

    shown = text_of(client.get(address(batch)))

    assert "Which one? (a, b) How many?" in shown
    assert "Not shown: x.md is missing." in shown


def test_a_row_shows_what_went_wrong(batch: Batch, client: Client) -> None:
    b.asks(batch, "error_resolution", "x1")
    printed = {"output_tail": "collecting\n\x1b[31mE   assert 0 == 1\x1b[0m"}
    b.asks(batch, "error_resolution", "x2", context=printed)

    response = client.get(address(batch)).content.decode()

    assert '<p class="batch-error" dir="auto">first\nsecond</p>' in response
    assert '<p class="batch-error" dir="auto">E   assert 0 == 1</p>' in response


def test_a_row_shows_of_an_output_what_went_wrong_first(batch: Batch, client: Client) -> None:
    lines = [f"line {n}" for n in range(20)]
    failed = "\n".join([*lines[:9], "FAILED: no till", *lines[9:]])
    b.asks(batch, "error_resolution", "x1", context={"errors": [failed]})
    b.asks(batch, "error_resolution", "x2", context={"errors": ["\n".join(lines)]})

    response = client.get(address(batch)).content.decode()

    assert '<p class="batch-error" dir="auto">FAILED: no till</p>' in response
    assert '<p class="batch-error" dir="auto">line 17\nline 18\nline 19</p>' in response


def test_a_peek_shows_the_rest_of_what_the_run_tells(batch: Batch, client: Client) -> None:
    told = {
        "errors": ["boom"],
        "error_analysis": "It is the clock.",
        "suggested_fixes": ["Wind it up."],
    }
    run = b.asks(batch, "error_resolution", "x1", context=told)

    row = text_of(client.get(address(batch)))
    peek = text_of(client.get(address(batch, f"peek/{key(run)}/"), headers=HTMX))

    assert "Errors, Analysis, Suggested fixes" in row
    assert "Errors boom Analysis It is the clock. Suggested fixes Wind it up." in peek


def test_a_peek_shows_the_first_lines(batch: Batch, client: Client, tmp_path: Path) -> None:
    asked = f.reviewed_list(tmp_path)
    Run.objects.filter(pk=asked.run.pk).update(batch=batch)
    assert "list.md" in text_of(client.get(address(batch)))

    response = client.get(address(batch, f"peek/{asked.request_id}/"), headers=HTMX)

    assert "Buy apples." in text_of(response)
    other = f.pending(f.started(f.five_steps()))
    assert client.get(address(batch, f"peek/{other.request_id}/"), headers=HTMX).status_code == 404


def test_a_batch_that_is_not_there(client: Client) -> None:
    assert client.get("/batches/coord-20261116-ffffff/").status_code == 404


def test_the_page_needs_a_session(batch: Batch) -> None:
    assert Client().get(address(batch)).status_code == 302
    assert Client().post(address(batch), {}).status_code == 401


def test_text_of_agents_is_never_markup(batch: Batch, client: Client) -> None:
    run = b.asks(batch, "approval", "1", prompt="<script>alert(1)</script>")
    Run.objects.filter(pk=run.pk).update(artifacts={"branch_name": "<b>x</b>"})

    page = client.get(address(batch)).content.decode()

    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_the_page_takes_as_many_queries_whatever_its_size(batch: Batch, client: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as taken:
            client.get(address(batch))
        return len(taken)

    b.twelve(batch)
    few = queries()
    for n in range(20):
        b.asks(batch, "approval", str(200 + n))

    assert queries() == few


def test_two_hundred_rows_are_answered_in_one_post(batch: Batch, client: Client) -> None:
    runs = [b.asks(batch, "approval", str(1000 + n)) for n in range(200)]
    wanted = {run.pk: "reject" if n % 3 == 0 else "approve" for n, run in enumerate(runs)}
    data: dict[str, Any] = {f"choice-{key(run)}": wanted[run.pk] for run in runs}
    data |= {f"comment-{key(run)}": f"for {run.uuid}" for run in runs}

    response = client.post(address(batch), {**data, "seals": seals(*runs)})

    assert response["Location"] == address(batch, "?sent=200")
    assert FeedbackResponse.objects.count() == 200
    assert not FeedbackRequest.objects.filter(status="pending").exists()
    for run in runs:
        given = FeedbackResponse.objects.get(request__run=run)
        assert (given.response, given.comment) == (wanted[run.pk], f"for {run.uuid}")


def test_the_inbox_shows_one_batch_alone(batch: Batch, client: Client) -> None:
    ours, other = b.asks(batch, "approval", "1"), f.started(f.five_steps(), work_id="77")

    response = client.get(f"/?batch={batch.batch_id}")

    page = response.content.decode()
    assert f'id="{key(ours)}"' in page
    assert f'id="{key(other)}"' not in page
    assert f'href="{address(batch)}"' in page
    assert "1 of 2 open" in text_of(response)
    assert f'id="{key(other)}"' in client.get("/?batch=not%20one").content.decode()
