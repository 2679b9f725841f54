"""What the command line tells about runs, and the little it does to them."""

import json
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from runs.domain.values.printed import terminal_codes
from runs.management.commands import status
from runs.models import Event, Run
from runs.terminal import layout
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps(), work_id="124")


def test_status_shows_the_newest_runs_first(run: Run) -> None:
    newer = f.started(f.workflow({"build": [f.step("only")]}))

    header, first, second = faber("status").lines

    columns = ["RUN", "STATUS", "DONE", "STEP", "TITLE", "AGE", "PROJECT", "WORK", "WORKFLOW"]
    assert header.split() == columns
    assert (first.split()[0], "completed" in first) == (newer.short_id, True)
    assert second.split()[0] == run.short_id
    assert "awaiting feedback" in second
    assert "architect:two" in second


def test_status_lists_twenty_runs_as_run_json() -> None:
    runs = [f.started(f.workflow({"build": [f.step("only")]})) for _ in range(21)]

    document = faber("status", "--json").document

    assert document["next_cursor"] is None
    assert [item["run_id"] for item in document["items"]] == [r.run_id for r in runs[:0:-1]]


def test_on_a_screen_a_table_has_colour_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "COLUMNS": "30", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)

    table = layout.columns(("STATUS", "STEP"), [("failed", "x" * 50)], colour=True)

    assert table.splitlines()[1] == f"\x1b[31mfailed  \x1b[0m{'x' * 21}…"


def test_a_narrow_screen_shows_how_each_run_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(status.Command, "in_colour", True)
    f.started(f.five_steps(), target="A title that is longer than half of a narrow screen is wide")

    row = faber("status").lines[1]

    assert "awaiting feedback" in row
    assert "architect:two" in row


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_no_screen_is_too_narrow_for_the_age_and_the_id_of_a_run(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(status.Command, "in_colour", True)
    run = f.started(f.five_steps(), target="A title that is longer than half of a screen is wide")
    age_ago = timezone.now() - timedelta(minutes=14)
    Run.objects.filter(pk=run.pk).update(created_at=age_ago)

    header, row, *more = [terminal_codes.bare(line) for line in faber("status").lines]

    assert more == []
    assert row.startswith(run.short_id)
    assert "awaiting feedback" in row
    assert row[header.index("AGE") :].startswith("14 min")
    assert ("TITLE" in header) is (width > 60)
    assert len(row) <= width


def test_status_without_runs_says_so() -> None:
    assert faber("status").out == "No runs yet.\n"


def test_an_empty_name_is_no_run(run: Run) -> None:
    """Such as that of a shell variable which is not set."""
    answer = faber("status", "")

    assert (answer.code, answer.out) == (6, "")


def test_status_of_a_run_is_a_card(run: Run) -> None:
    answer = faber("status", "latest")

    assert answer.code == 0
    assert answer.lines[0] == f"{run.run_id}  awaiting feedback"
    assert f.pending(run).request_id in answer.out
    assert "1 of 5 steps" in answer.out


def test_status_of_a_run_is_run_json(run: Run) -> None:
    document = faber("status", run.short_id, "--json").document

    assert document["run_id"] == run.run_id
    assert document["work_id"] == "124"
    assert document["progress"] == {"done": 1, "total": 5}
    assert document["pending_request"] == f.pending(run).request_id


@pytest.mark.parametrize("reference", ["nonsense", "12345678", "a/b/c", ""])
def test_an_unknown_run_is_a_sentence_and_a_6(reference: str) -> None:
    answer = faber("events", reference)

    assert (answer.code, answer.out) == (6, "")
    assert answer.err == f"There is no run {reference!r}.\n"


def test_an_unknown_run_is_also_told_to_programs() -> None:
    answer = faber("status", "nonsense", "--json")

    assert answer.code == 6
    assert answer.document["error"]["code"] == "not_found"


def test_events_are_the_documents_in_order(run: Run) -> None:
    items = faber("events", "latest", "--json").document["items"]

    assert [item["event_id"] for item in items] == list(range(1, len(items) + 1))
    assert items[0]["type"] == "workflow_start"
    assert items == [event.document for event in Event.objects.filter(run=run)]


def test_events_after_a_number_are_the_later_ones(run: Run) -> None:
    *_, last = faber("events", "latest", "--after", str(run.last_event_id - 1)).lines

    assert "feedback_request" in last
    assert "architect:two" in last
    assert len(faber("events", "latest", "--after", str(run.last_event_id - 2)).lines) == 2


def test_what_a_step_wrote_cannot_steer_the_terminal(run: Run) -> None:
    Run.objects.update(started_by="\x1b[2Jevil\u202e")
    event = run.events.get(type="workflow_start")
    event.document["user"] = "\x1b]0;evil\x07"
    event.save()

    shown = faber("events", "latest").out + faber("status", "latest").out

    assert "evil" in shown
    assert not set(shown) & set("\x1b\x07\u202e")


def test_state_is_a_json_document_with_and_without_asking_for_it(run: Run) -> None:
    plain, asked = faber("state", "latest"), faber("state", "latest", "--json")

    assert plain.out == asked.out
    assert json.loads(plain.out)["feedback_request"]["request_id"] == f.pending(run).request_id


def test_cancel_ends_the_run_for_a_reason(run: Run) -> None:
    answer = faber("cancel", "latest", "--reason", "not needed any more", "--json")

    assert answer.code == 0
    assert answer.document["status"] == "cancelled"
    assert answer.document["error"] == "not needed any more"


def test_cancelling_a_second_time_is_refused(run: Run) -> None:
    faber("cancel", "latest", "--reason", "once")

    answer = faber("cancel", "latest", "--reason", "twice")

    assert (answer.code, answer.err) == (7, "The run is already cancelled.\n")


def test_an_empty_reason_is_none(run: Run) -> None:
    answer = faber("cancel", "latest", "--reason", " ")

    assert (answer.code, f.fresh(run).status) == (2, "awaiting_feedback")


def test_verify_says_that_a_run_conforms(run: Run) -> None:
    answer = faber("verify", "latest", "--json")

    assert answer.code == 0
    assert answer.document["conforms"] is True
    assert answer.document["matched"] == ["frame:one"]


def test_verify_names_what_diverged(run: Run) -> None:
    run.events.filter(type="step_start", step="one").update(type="checkpoint")

    answer = faber("verify", "latest")

    assert answer.code == 4
    assert answer.out.startswith(f"{run.run_id} diverged: missing: frame:one; ")
    assert "fabricated: frame:one" in answer.out


def look_after(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[float], object]) -> None:
    """What happens between two looks of this command; other threads sleep as ever."""
    monkeypatch.setattr(status, "time", SimpleNamespace(sleep=meanwhile))


def test_without_a_screen_watching_prints_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.workflow({"build": [f.step("one"), f.step("two", "tests.steps:fail")]}))
    looks = iter([None, None, run])
    look_after(monkeypatch, lambda _: f.work(going) if (going := next(looks)) else None)

    answer = faber("status", run.short_id, "--watch")

    assert answer.code == 0
    assert answer.err.splitlines() == [f"{run.run_id} in progress (0 of 2 steps)"]
    assert "awaiting feedback" in answer.lines[0]


def test_watching_every_run_ends_when_all_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    done = f.started(f.workflow({"build": [f.step("one")]}))
    run = f.start(f.workflow({"build": [f.step("one")]}))
    look_after(monkeypatch, lambda _: f.work(run))

    answer = faber("status", "--watch", "--json")

    assert {item["status"] for item in answer.document["items"]} == {"completed"}
    assert {line.split()[0] for line in answer.err.splitlines()} == {run.run_id, done.run_id}


def test_a_long_label_moves_all_values_of_a_card() -> None:
    card = layout.card("Removed", [("runs", 3), ("output characters", 12)])

    assert card.splitlines() == ["Removed", "  runs               3", "  output characters  12"]
