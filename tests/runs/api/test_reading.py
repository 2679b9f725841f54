"""Reading costs little: lists as many queries as one row, and nothing for what did not change."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.domain.values.actors import Role, Scope
from runs.models import Batch, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, program

pytestmark = pytest.mark.django_db

MANY = 30


@pytest.fixture
def reviewer() -> Program:
    return program(Scope.REVIEWER, account("rita", Role.REVIEWER))


def queries(caller: Program, path: str) -> int:
    """How many it takes to read a whole list, which has something in it."""
    with CaptureQueriesContext(connection) as seen:
        assert body_of(caller.get(path))["items"]
    return len(seen)


def a_run(workspace: Path) -> Run:
    """It has a history, a batch, an artifact and an open request."""
    run = f.reviewed_list(workspace).run
    run.batch, _ = Batch.objects.get_or_create(batch_id="b1", project=run.project)
    run.save(update_fields=["batch"])
    return run


LISTS = ("/runs", "/runs?status=awaiting_feedback", "/requests", "/requests?assigned=me")


def test_a_long_list_takes_as_many_queries_as_a_short_one(
    reviewer: Program, tmp_path: Path
) -> None:
    a_run(tmp_path)
    reviewer.get("/runs")  # the token remembers once a minute that it was used
    short = {path: queries(reviewer, path) for path in LISTS}
    for _ in range(MANY - 1):
        a_run(tmp_path)

    assert {path: queries(reviewer, path) for path in LISTS} == short
    assert max(short.values()) <= 7


def test_what_did_not_change_is_not_sent_again(reviewer: Program) -> None:
    run = f.started(f.five_steps())
    asked = f.pending(run).request_id

    for path in (
        f"/runs/{run.run_id}",
        f"/runs/{run.run_id}/state",
        f"/runs/{run.run_id}/events",
        "/runs",
        f"/requests/{asked}",
        "/requests",
        "/openapi.json",
    ):
        first = reviewer.get(path)
        again = reviewer.get(path, headers={"If-None-Match": first["ETag"]})
        other = reviewer.get(path, headers={"If-None-Match": '"other"'})

        assert (again.status_code, again.content) == (304, b""), path
        assert again["ETag"] == first["ETag"]
        assert (other.status_code, other.content) == (200, first.content), path
        assert first["Cache-Control"] == "private, no-cache"


def test_what_changed_has_another_etag(reviewer: Program) -> None:
    run = f.started(f.five_steps())
    path = f"/requests/{f.pending(run).request_id}"
    before = reviewer.get(path)["ETag"]

    f.answer(run, "approve")

    after = reviewer.get(path, headers={"If-None-Match": before})
    assert (after.status_code, body_of(after)["status"]) == (200, "answered")


def test_a_refusal_is_never_called_unchanged() -> None:
    refused = Program().get("/runs", headers={"If-None-Match": "*"})

    assert refused.status_code == 401
    assert "ETag" not in refused


def test_what_was_done_is_never_called_unchanged() -> None:
    run = f.start(f.workflow({"build": [{"id": "away", "remote": True}]}))

    taken = program(Scope.AGENT).post(f"/runs/{run.run_id}/next", {}, {"If-None-Match": "*"})

    assert (taken.status_code, body_of(taken)["step"]) == (200, "away")
    assert "ETag" not in taken
