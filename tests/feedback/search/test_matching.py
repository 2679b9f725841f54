"""Requests and decisions are found by any part of their texts, from indexes, on both databases."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from feedback.audit import decisions
from feedback.audit.decisions import DecisionFilter
from feedback.inbox import open_requests
from feedback.inbox.filters import Filters
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.search import matching
from feedback.search.index import ANSWERS, QUESTIONS
from runs.accounts.membership import EVERYTHING
from runs.models import Run
from tests import factories as f
from tests.plans import explained, read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(params=[1, 10**9], ids=["along the list", "by the indexes"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MANY", request.param)


@pytest.fixture
def two() -> None:
    """No text that is looked for can stand in a random id."""
    for work_id, title, prompt, comment in (
        ("258", "Export “Invoices”", "Ship it on Monday?", "Looks good, 100% tested"),
        ("7z7", "Login fails", "Is the plan right?", ""),
    ):
        run = f.started(f.five_steps(), work_id=work_id)
        Run.objects.filter(pk=run.pk).update(own_title=title)
        FeedbackRequest.objects.filter(run=run).update(prompt=prompt)
        f.answer(run, "approve", comment)
        copy = f.started(f.five_steps(), work_id=work_id)
        Run.objects.filter(pk=copy.pk).update(own_title=title)
        FeedbackRequest.objects.filter(run=copy).update(prompt=prompt)


TEXTS = [
    ("ship IT on", ["258"]),
    ("invoices”", ["258"]),
    ("plan right", ["7z7"]),
    ("right plan", []),
    ("#258", ["258"]),
    ("#25", []),
    ("7z7", ["7z7"]),
    ("100_", []),
    ('"*', []),
    ("n?", []),
    ("t?", ["7z7"]),
    ("acme/app", ["7z7", "258"]),
]


@pytest.mark.usefixtures("two", "either_way")
@pytest.mark.parametrize(
    ("text", "work_ids"), [*TEXTS, ("good, 100%", ["258"]), ("PPROV", ["7z7", "258"])]
)
def test_a_decision_is_found_by_its_words_its_question_and_its_run(
    text: str, work_ids: list[str]
) -> None:
    leaf, total = decisions.leaf_of(DecisionFilter(text=text), "", 50)

    assert [given.request.run.work_id for given in leaf] == work_ids
    assert total.count == len(work_ids)


@pytest.mark.usefixtures("two", "either_way")
@pytest.mark.parametrize(("text", "work_ids"), TEXTS)
def test_an_open_request_is_found_by_its_question_and_its_run(
    text: str, work_ids: list[str]
) -> None:
    inbox = open_requests.inbox(Filters(q=text, sort="title"), f.person(), EVERYTHING)

    assert sorted(row.asked.run.work_id for row in inbox.rows) == sorted(work_ids)


@pytest.mark.usefixtures("two")
def test_what_was_there_before_the_index_is_in_it() -> None:
    with connection.cursor() as cursor:
        for index in (QUESTIONS, ANSWERS):
            cursor.execute(f"DROP TABLE {index.table}")
    call_command("migrate", verbosity=0)

    assert matching.asked(FeedbackRequest.objects.filter(status="pending"), "ship it").count() == 1
    assert matching.decided(FeedbackResponse.objects.all(), "100% tested").count() == 1


def test_no_search_reads_every_request_or_decision() -> None:
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(3000, waiting_each=3)

    with CaptureQueriesContext(connection) as queries:
        for text in ("nowhere at all", "unit 312", "#258", "n?"):
            open_requests.inbox(Filters(q=text), f.person(), EVERYTHING)
            list(decisions.leaf_of(DecisionFilter(text=text), "", 50)[0])

    for table in ("request", "response"):
        assert list(read_whole(queries, f"faber_feedback_feedback{table}")) == []
    assert list(read_whole(queries, "faber_runs_run")) == []


def test_a_common_word_leads_from_its_runs_to_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from all that is open; and what it found is not bound one by one."""
    monkeypatch.setattr(matching, "MANY", 10**9)
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(1000, waiting_each=3)
    rows = FeedbackRequest.objects.filter(status="pending").order_by("due_at", "pk")

    with CaptureQueriesContext(connection) as queries:
        found = matching.asked(rows, "invoice")
        assert found.count() == rows.filter(run__own_title__icontains="invoice").count() > 5

    looks = [query["sql"] for query in queries if query["sql"].startswith("WITH")]
    assert len(looks) == 2  # by their runs, and by what they ask
    _, parameters = found.query.sql_with_params()
    assert len(parameters) < 5
    if connection.vendor == "sqlite":
        by_run, by_question = map(explained, looks)
        assert "SEARCH q USING COVERING INDEX one_pending_request (run_id=?)" in by_run or (
            "SEARCH q USING INDEX one_pending_request (run_id=?)" in by_run
        )
        assert "SEARCH q USING INTEGER PRIMARY KEY (rowid=?)" in by_question
