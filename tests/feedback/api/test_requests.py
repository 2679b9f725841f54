"""Requests over HTTP: listed, looked at, waited for, answered."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from feedback.api import long_poll
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.values.actors import Role, Scope
from runs.models import IdempotencyKey, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, error_of, program
from tests.plans import explained

pytestmark = pytest.mark.django_db

REQUEST_JSON = {
    *("request_id", "run_id", "work_id", "type", "status", "prompt", "options", "context"),
    *("artifacts", "resume_point", "phase", "step", "requested_at", "notification_sent"),
    *("seal", "url", "response", "title", "round", "agent", "cost_usd", "assignee", "due_at"),
}


@pytest.fixture
def reviewer() -> Program:
    return program(Scope.REVIEWER, account("rita", Role.REVIEWER))


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT, name="bot")


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps(), work_id="124")


@pytest.fixture
def request_id(run: Run) -> str:
    return f.pending(run).request_id


def test_beyond_the_last_round_changes_are_refused_with_what_can_be_answered(
    reviewer: Program, tmp_path: Path
) -> None:
    run = f.spec_reviewed(tmp_path, approval_type="review", max_rounds=1)
    asked = f.pending(f.answered(run, "request_changes", "shorter")).request_id

    refused = reviewer.post(
        f"/requests/{asked}/answer", {"response": "changes", "comment": "shorter"}
    )

    error = error_of(refused)
    assert refused.status_code == 422
    assert error["code"] == "round_limit"
    assert error["message"].startswith("The limit of 1 round of changes is reached;")
    assert error["details"]["options"] == ["approve", "reject"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="few rows are soonest sorted there")
@pytest.mark.parametrize("wanted", ["", "?status=pending"])
def test_a_list_is_read_in_its_order_and_never_sorted(
    reviewer: Program, run: Run, wanted: str
) -> None:
    with CaptureQueriesContext(connection) as queries:
        reviewer.get(f"/requests{wanted}")

    lists = [query["sql"] for query in queries if " LIMIT 51" in query["sql"]]
    assert lists
    assert not [plan for plan in map(explained, lists) if "TEMP B-TREE FOR ORDER BY" in plan]


def test_a_question_that_belongs_to_no_run_names_its_run(agent: Program) -> None:
    document = body_of(agent.post("/requests", {"type": "approval", "prompt": "Drop orders_old?"}))
    shown = {
        "type": "review",
        "prompt": "Fine?",
        "artifact": {"path": "plan.md", "content": "# Rename the tables\n"},
    }
    with_plan = body_of(agent.post("/requests", shown))

    assert document["title"] == "Drop orders_old?"
    assert body_of(agent.get(f"/runs/{document['run_id']}"))["title"] == "Drop orders_old?"
    assert with_plan["title"] == "Rename the tables"
    assert document["work_id"] is None


def test_a_selection_of_a_program_is_titled_by_its_question(agent: Program) -> None:
    sent = {"type": "selection", "prompt": "Which one?", "options": ["a", "b"]}
    plan = {"artifact": {"path": "plan.md", "content": "# Plan\n"}}

    assert body_of(agent.post("/requests", {**sent, **plan}))["title"] == "Which one?"


def test_a_request_has_the_contracts_shape(agent: Program, run: Run, request_id: str) -> None:
    document = body_of(agent.get(f"/requests/{request_id}"))

    assert set(document) >= REQUEST_JSON
    assert document["options"][1] == {
        "value": "request_changes",
        "label": "Request changes",
        "action": "revise",
        "description": "Provide feedback for revision",
    }
    assert document["response"] is None


def test_requests_are_listed_the_oldest_first_page_by_page(agent: Program, request_id: str) -> None:
    other = f.pending(f.started(f.workflow({"build": [f.step("b", "tests.steps:fail")]})))

    first = body_of(agent.get("/requests", status="pending", limit=1))
    second = body_of(agent.get("/requests", status="pending", cursor=first["next_cursor"]))

    assert [item["request_id"] for item in first["items"]] == [request_id]
    assert [item["request_id"] for item in second["items"]] == [other.request_id]
    assert second["next_cursor"] is None


def test_requests_are_found_by_what_they_are(agent: Program, run: Run, request_id: str) -> None:
    def found(**query: Any) -> list[str]:
        return [item["request_id"] for item in body_of(agent.get("/requests", **query))["items"]]

    assert found(type="review", project="ACME/app") == [request_id]
    assert found(type="approval") == []
    assert found(project="Other/App") == []
    assert found(status="answered") == []
    assert agent.get("/requests", status="odd").status_code == 422


def test_assigned_are_those_one_may_answer(
    agent: Program, reviewer: Program, request_id: str
) -> None:
    for number in range(3):
        others = f.step(f"o{number}", confirm=True, reviewers=["somebody-else"])
        f.started(f.workflow({"build": [others]}))
    mine = f.step("mine", confirm=True, reviewers=["Rita"])
    named = f.pending(f.started(f.workflow({"build": [mine]}))).request_id

    first = body_of(reviewer.get("/requests", assigned="me", limit=1))
    second = body_of(reviewer.get("/requests", assigned="me", cursor=first["next_cursor"]))

    assert [item["request_id"] for item in first["items"]] == [request_id]
    assert [item["request_id"] for item in second["items"]] == [named]
    assert body_of(agent.get("/requests", assigned="me"))["items"] == []


def test_an_answer_is_recorded_with_who_gave_it(
    reviewer: Program, run: Run, request_id: str
) -> None:
    item = {"path": "spec.md", "line": 3, "body": "Why?", "kind": "question"}

    response = reviewer.post(
        f"/requests/{request_id}/answer",
        {"response": "2", "comment": "Two layers.", "items": [item]},
    )

    assert response.status_code == 200
    document = body_of(response)
    assert document["status"] == "answered"
    given = document["response"]
    assert (given["response"], given["action"]) == ("request_changes", "revise")
    assert given["comment"] == "Two layers."
    assert given["items"][0].items() >= item.items()
    assert given["provided_by"].items() >= {"user": "rita", "source": "api"}.items()
    assert f.fresh(run).status == "in_progress"


def test_an_approval_takes_edits_and_a_review_takes_suggestions(
    reviewer: Program, tmp_path: Path
) -> None:
    asked = f.reviewed_list(tmp_path)
    call = f"/requests/{asked.request_id}/answer"
    edits = [{"path": "list.md", "content": "# Mine\n"}]
    refused = reviewer.post(call, {"response": "reject", "edits": edits})
    assert refused.status_code == 422
    item = {"path": "list.md", "line": 3, "kind": "suggestion"}
    items = [{**item, "replacement": "Buy pears."}, {**item, "replacement": ""}]
    lacking = reviewer.post(call, {"response": "request_changes", "items": [item]})
    assert lacking.status_code == 422

    reviewer.post(call, {"response": "request_changes", "items": items})
    given = asked.responses.get().items
    again = f.pending(f.work(asked.run))
    approved = reviewer.post(
        f"/requests/{again.request_id}/answer", {"response": "approve", "edits": edits}
    )

    assert [each["replacement"] for each in given] == ["Buy pears.", ""]
    assert approved.status_code == 200
    assert again.run.revisions.latest("revision").text == "# Mine\n"


def test_a_second_answer_is_told_who_what_and_when(
    reviewer: Program, run: Run, request_id: str
) -> None:
    f.answer(run, "approve")

    response = reviewer.post(f"/requests/{request_id}/answer", {"response": "reject"})

    assert response.status_code == 409
    error = error_of(response)
    assert error["code"] == "already_answered"
    assert (error["details"]["who"], error["details"]["what"]) == ("Rita", "approve")
    assert error["details"]["when"] < timezone.now().isoformat()


def test_an_answer_to_what_has_changed_is_stale(reviewer: Program, request_id: str) -> None:
    path = f"/requests/{request_id}/answer"

    old = reviewer.post(path, {"response": "approve", "seal": "another"})
    seal = body_of(reviewer.get(f"/requests/{request_id}"))["seal"]

    assert (old.status_code, error_of(old)["code"]) == (409, "stale")
    assert reviewer.post(path, {"response": "approve", "seal": seal}).status_code == 200


@pytest.mark.parametrize("lines", [{"line": 3, "end_line": 1}, {"end_line": 2}])
def test_a_line_comment_whose_lines_run_backwards_is_refused_with_its_place(
    reviewer: Program, request_id: str, lines: dict[str, int]
) -> None:
    body = {"response": "approve", "items": [{"path": "spec.md", "body": "x", **lines}]}

    response = reviewer.post(f"/requests/{request_id}/answer", body)

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"] == "items.0"
    assert FeedbackResponse.objects.count() == 0


@pytest.mark.parametrize("body", [{"response": "maybe"}, {"response": "request_changes"}])
def test_what_is_no_answer_is_refused_with_the_options(
    reviewer: Program, request_id: str, body: dict[str, str]
) -> None:
    response = reviewer.post(f"/requests/{request_id}/answer", body)

    assert response.status_code == 422
    error = error_of(response)
    assert error["code"] == "invalid_response"
    assert error["details"]["options"] == ["approve", "request_changes", "reject"]
    assert FeedbackResponse.objects.count() == 0


@pytest.mark.parametrize(
    "response", [{"rows": 12, "as": "json"}, '{"rows": 12, "as": "JSON"}', "rows: 12\nas: 2"]
)
def test_answers_to_typed_questions_come_as_an_object_or_as_text(
    reviewer: Program, response: object
) -> None:
    run = f.started(f.typed_questions())
    request_id = f.pending(run).request_id

    given = body_of(reviewer.post(f"/requests/{request_id}/answer", {"response": response}))

    assert given["response"]["values"] == {"rows": 12, "as": "JSON"}
    assert given["response"]["response"] == "How many rows?: 12\nAs what?: JSON"
    handed_back = f.work(run).attempts.get(number=2).response or {}
    assert handed_back["message"] == '{"rows": 12, "as": "JSON"}'


@pytest.mark.parametrize(
    ("response", "problems"),
    [
        (
            {"rows": "many", "to": 1},
            {"rows": 'must be a number, not "many"', "to": "is not one of the questions: rows, as"},
        ),
        ("as: XML", {"rows": "needs an answer", "as": 'must be one of CSV, JSON, not "XML"'}),
        ("twelve", {"": "Write each answer on a line of its own: `rows: …`, `as: …`"}),
        ({}, {"rows": "needs an answer"}),
    ],
)
def test_answers_that_do_not_fit_are_refused_with_their_places(
    reviewer: Program, response: object, problems: dict[str, str]
) -> None:
    request_id = f.pending(f.started(f.typed_questions())).request_id

    refused = reviewer.post(f"/requests/{request_id}/answer", {"response": response})

    assert refused.status_code == 422
    error = error_of(refused)
    assert error["code"] == "invalid_response"
    assert {each["place"]: each["message"] for each in error["details"]["problems"]} == problems
    assert not FeedbackResponse.objects.exists()


def test_an_object_answers_no_request_that_offers_options(
    reviewer: Program, request_id: str
) -> None:
    refused = reviewer.post(f"/requests/{request_id}/answer", {"response": {"q1": "approve"}})

    assert refused.status_code == 422
    assert error_of(refused)["details"]["options"] == ["approve", "request_changes", "reject"]


def test_a_program_that_asks_with_a_type_nobody_knows_is_told_where(agent: Program) -> None:
    questions = [{"question": "Which?", "type": "enum"}, {"question": "Who?", "type": "multi"}]
    sent = {"type": "clarification", "prompt": "Say.", "context": {"questions": questions}}

    refused = agent.post("/requests", sent)

    assert refused.status_code == 422
    assert [each["place"] for each in error_of(refused)["details"]["problems"]] == [
        "context.questions[0].type",
        "context.questions[1].options",
    ]


def test_who_is_not_asked_may_not_answer(reviewer: Program) -> None:
    run = f.started(f.workflow({"build": [f.step("x", confirm=True, reviewers=["otto"])]}))

    response = reviewer.post(
        f"/requests/{f.pending(run).request_id}/answer", {"response": "confirm"}
    )

    assert (response.status_code, error_of(response)["code"]) == (403, "not_allowed")


def test_an_answer_short_of_the_quorum_leaves_the_request_open(reviewer: Program) -> None:
    run = f.started(f.workflow({"build": [f.step("x", confirm=True, quorum=2)]}))
    path = f"/requests/{f.pending(run).request_id}/answer"

    first = reviewer.post(path, {"response": "confirm"})
    same = reviewer.post(path, {"response": "confirm"})

    assert (first.status_code, body_of(first)["status"]) == (200, "pending")
    assert len(body_of(first)["answers"]) == 1
    assert same.status_code == 409


@pytest.mark.parametrize("call", ["", "/wait", "/answer"])
def test_an_unknown_request_is_not_found(reviewer: Program, call: str) -> None:
    path = f"/requests/fr-20261116-000000{call}"

    response = reviewer.post(path, {"response": "x"}) if call == "/answer" else reviewer.get(path)

    assert (response.status_code, error_of(response)["code"]) == (404, "not_found")


# Waiting


def test_waiting_ends_with_202_while_nobody_answers(agent: Program, request_id: str) -> None:
    began = time.monotonic()

    response = agent.get(f"/requests/{request_id}/wait", timeout=0.3)

    assert response.status_code == 202
    assert body_of(response)["status"] == "pending"
    assert 0.3 <= time.monotonic() - began < 2


def test_waiting_ends_when_the_site_is_about_to(agent: Program, request_id: str) -> None:
    agent.environ[long_poll.IS_ENDING] = lambda: True

    response = agent.get(f"/requests/{request_id}/wait", timeout=60)

    assert response.status_code == 202
    assert response["Retry-After"] == str(long_poll.RETRY_AFTER)


def test_waiting_for_what_is_answered_ends_at_once(
    agent: Program, run: Run, request_id: str
) -> None:
    f.answer(run, "approve")

    response = agent.get(f"/requests/{request_id}/wait")

    assert (response.status_code, body_of(response)["response"]["response"]) == (200, "approve")


def test_waiting_for_a_cancelled_request_ends_too(
    agent: Program, run: Run, request_id: str
) -> None:
    FeedbackRequest.objects.update(status="cancelled")

    assert agent.get(f"/requests/{request_id}/wait").status_code == 200


def test_an_answer_that_may_be_taken_back_is_waited_for(
    agent: Program, run: Run, request_id: str, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    f.answer(run, "approve")

    held = agent.get(f"/requests/{request_id}/wait", timeout=0)
    FeedbackResponse.objects.update(state="taken")
    taken = agent.get(f"/requests/{request_id}/wait", timeout=0)

    assert [held.status_code, taken.status_code] == [202, 200]


def test_nobody_waits_longer_than_a_minute(
    request_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("feedback.api.long_poll.time.monotonic", lambda: now[0])
    looks = []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        looks.append(seconds)

    assert long_poll.wait(request_id, 3600, sleep=sleep) == (False, True)
    assert now[0] == pytest.approx(60)
    assert len(looks) == 240


def test_an_hour_of_bounded_waits_loses_no_answer(
    run: Run, request_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("feedback.api.long_poll.time.monotonic", lambda: now[0])
    monkeypatch.setattr(long_poll, "POLL_SECONDS", 5.0)

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 3600 and f.fresh(run).status == "awaiting_feedback":
            f.answer(run, "approve")

    waits = 1
    while not long_poll.wait(request_id, 55, sleep=sleep)[0]:
        waits += 1

    assert waits == 66


@pytest.fixture
def every_seat_taken() -> Iterator[None]:
    taken = 0
    while long_poll.SEATS.acquire(blocking=False):
        taken += 1
    yield
    for _ in range(taken):
        long_poll.SEATS.release()


@pytest.mark.usefixtures("every_seat_taken")
def test_who_finds_no_seat_is_told_to_ask_again(agent: Program, run: Run, request_id: str) -> None:
    began = time.monotonic()

    response = agent.get(f"/requests/{request_id}/wait", timeout=30)

    assert (response.status_code, response["Retry-After"]) == (202, "2")
    assert time.monotonic() - began < 5
    f.answer(run, "approve")
    assert agent.get(f"/requests/{request_id}/wait").status_code == 200


@pytest.mark.parametrize("timeout", ["-1", "nan", "inf", "soon"])
def test_a_wait_has_a_length(agent: Program, request_id: str, timeout: str) -> None:
    assert agent.get(f"/requests/{request_id}/wait", timeout=timeout).status_code == 422


@pytest.mark.django_db(transaction=True)
@pytest.mark.database
def test_an_answer_ends_the_wait_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.started(f.five_steps())
    request_id = f.pending(run).request_id
    agent, got = program(Scope.AGENT, name="bot"), []
    is_waiting, sleep = threading.Event(), time.sleep

    def sleep_and_tell(seconds: float) -> None:
        is_waiting.set()
        sleep(seconds)

    monkeypatch.setattr("feedback.api.long_poll.time.sleep", sleep_and_tell)

    def wait() -> None:
        try:
            got.append(agent.get(f"/requests/{request_id}/wait", timeout=30).status_code)
        finally:
            connection.close()

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert is_waiting.wait(20)
    f.answer(run, "approve")
    waiter.join(20)

    assert got == [200]


# The same again

KEY = {"Idempotency-Key": "one"}


def test_the_same_key_and_body_get_the_first_result_again(
    reviewer: Program, request_id: str
) -> None:
    path = f"/requests/{request_id}/answer"

    first = reviewer.post(path, {"response": "approve", "comment": "ok"}, KEY)
    again = reviewer.post(path, {"comment": "ok", "response": "approve"}, KEY)
    other = reviewer.post(path, {"response": "approve", "comment": "ok"}, {"Idempotency-Key": "b"})

    assert [first.status_code, again.status_code] == [200, 200]
    assert body_of(again) == body_of(first)
    assert FeedbackResponse.objects.count() == 1
    assert other.status_code == 409


def test_the_same_key_with_another_body_is_refused(reviewer: Program, request_id: str) -> None:
    path = f"/requests/{request_id}/answer"
    reviewer.post(path, {"response": "approve"}, KEY)

    other = reviewer.post(path, {"response": "reject"}, KEY)

    assert (other.status_code, error_of(other)["code"]) == (409, "idempotency_conflict")


def test_each_token_has_keys_of_its_own(reviewer: Program, request_id: str) -> None:
    reviewer.post(f"/requests/{request_id}/answer", {"response": "approve"}, KEY)
    otto = program(Scope.REVIEWER, account("otto", Role.REVIEWER), name="ottos")

    other = otto.post(f"/requests/{request_id}/answer", {"response": "approve"}, KEY)

    assert error_of(other)["code"] == "already_answered"


def test_a_refused_call_leaves_its_key_free(reviewer: Program, request_id: str) -> None:
    path = f"/requests/{request_id}/answer"

    refused = reviewer.post(path, {"response": "maybe"}, KEY)
    taken = reviewer.post(path, {"response": "approve"}, KEY)
    start_refused = reviewer.post("/runs", {"workflow": "nothing"}, {"Idempotency-Key": "s"})
    started = reviewer.post("/runs", {"workflow": "core"}, {"Idempotency-Key": "s"})

    assert [refused.status_code, taken.status_code] == [422, 200]
    assert [start_refused.status_code, started.status_code] == [422, 201]


def test_a_run_is_started_once_for_a_key(reviewer: Program) -> None:
    first = reviewer.post("/runs", {"workflow": "core"}, KEY)
    again = reviewer.post("/runs", {"workflow": "core"}, KEY)

    assert [first.status_code, again.status_code] == [201, 201]
    assert body_of(first) == body_of(again)
    assert Run.objects.count() == 1


def test_a_start_that_never_ended_is_not_tried_again_by_itself(reviewer: Program) -> None:
    reviewer.post("/runs", {"workflow": "core"}, KEY)
    IdempotencyKey.objects.update(status=None, answer=None)

    under_way = reviewer.post("/runs", {"workflow": "core"}, KEY)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    died = reviewer.post("/runs", {"workflow": "core"}, KEY)

    assert (under_way.status_code, error_of(under_way)["code"]) == (409, "in_progress")
    assert (died.status_code, error_of(died)["code"]) == (409, "unknown_outcome")
    assert Run.objects.count() == 1


def test_old_keys_are_forgotten(reviewer: Program) -> None:
    reviewer.post("/runs", {"workflow": "core"}, KEY)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(days=8))

    reviewer.post("/runs", {"workflow": "core"}, {"Idempotency-Key": "two"})

    assert [row.key for row in IdempotencyKey.objects.all()] == ["two"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.database
@pytest.mark.parametrize("call", ["answer", "start"])
def test_of_two_at_once_with_one_key_only_one_acts(call: str) -> None:
    reviewer = program(Scope.REVIEWER, name="ci")
    run = f.started(f.five_steps())
    path, body = f"/requests/{f.pending(run).request_id}/answer", {"response": "approve"}
    if call == "start":
        path, body = "/runs", {"workflow": "core"}
    together, codes = threading.Barrier(4), []

    def post() -> None:
        try:
            together.wait()
            codes.append(reviewer.post(path, body, KEY).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    done = 200 if call == "answer" else 201
    assert done in codes
    assert set(codes) <= {done, 409}
    if call == "answer":
        assert codes == [200] * 4, "who comes second waits for the first"
        assert FeedbackResponse.objects.count() == 1
    else:
        assert Run.objects.exclude(pk=run.pk).count() == 1


@pytest.mark.parametrize("name", ["reject", "Reject"])
def test_an_agent_cannot_make_a_refusal_go_on(agent: Program, name: str) -> None:
    response = agent.post(
        "/requests",
        {
            "type": "approval",
            "prompt": "Ship it?",
            "options": ["approve", {"value": name, "action": "continue"}],
        },
    )

    assert response.status_code == 422
    assert "always means abort" in error_of(response)["details"]["problems"][0]["message"]
    assert not Run.objects.exists()


def test_a_choice_that_people_know_means_the_same_in_capitals(agent: Program) -> None:
    body = {"type": "selection", "prompt": "Ship it?", "options": ["Ship", "Reject"]}

    asked = body_of(agent.post("/requests", body))

    assert [option["action"] for option in asked["options"]] == ["continue", "abort"]


def test_an_answer_to_a_file_that_changed_is_kept_and_the_run_asks_again(
    reviewer: Program, agent: Program, tmp_path: Path
) -> None:
    run = f.spec_reviewed(tmp_path)
    request_id = f.pending(run).request_id
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    answered = body_of(reviewer.post(f"/requests/{request_id}/answer", {"response": "approve"}))

    assert (answered["status"], answered["response"]["response"]) == ("superseded", "approve")
    waited = agent.get(f"/requests/{request_id}/wait?timeout=0")
    assert (waited.status_code, body_of(waited)["status"]) == (200, "superseded")
    again = body_of(
        agent.get(f"/requests/{body_of(agent.get(f'/runs/{run.run_id}'))['pending_request']}")
    )
    assert again["prompt"].startswith("specs/spec.md changed after revision 1 was shown")
    assert again["context"]["changed_files"]["after"] == request_id
    assert [(file["path"], file["revision"]) for file in again["artifacts"]] == [(f.SPEC, 2)]
