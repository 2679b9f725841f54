"""Open requests on the command line: listed, shown, answered."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from feedback.management.commands import pending
from feedback.models import FeedbackResponse
from runs.domain.values.printed import terminal_codes
from runs.models import Run
from runs.terminal.identity import cli_actor
from tests import brokers
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps(), work_id="124")


def test_pending_lists_every_open_request_the_oldest_first(run: Run) -> None:
    other = f.started(f.workflow({"build": [f.step("boom", "tests.steps:fail")]}))

    header, first, second = faber("pending").lines

    assert header.split()[:4] == ["REQUEST", "TITLE", "PROJECT", "WORK"]
    assert header.split()[4:] == ["TYPE", "STEP", "AGE", "DUE", "QUESTION"]
    assert first.startswith(f.pending(run).request_id)
    assert "review" in first
    assert second.startswith(f.pending(other).request_id)
    assert "error_resolution" in second


def test_a_narrow_screen_lists_what_requests_are_about_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(pending.Command, "in_colour", True)
    wide = "A title that is longer than half of a screen is wide"
    asked = f.pending(f.started(f.five_steps(), target=wide))
    type(asked).objects.filter(pk=asked.pk).update(type="error_resolution", prompt="What now? " * 9)

    header, row = [terminal_codes.bare(line) for line in faber("pending").lines]

    assert header.split() == ["REQUEST", "TITLE", "TYPE", "AGE", "DUE", "QUESTION"]
    assert row.startswith(asked.request_id)
    assert "  error_resolution  " in row
    assert row[header.index("AGE") :].startswith("0 s  ")
    assert row.endswith("…")
    assert len(row) <= 80


def test_the_narrowest_screen_lists_ids_and_types(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(pending.Command, "in_colour", True)
    asked = f.pending(run)
    type(asked).objects.filter(pk=asked.pk).update(type="error_resolution")

    lines = [terminal_codes.bare(line) for line in faber("pending").lines]

    assert lines == ["REQUEST             TYPE", f"{asked.request_id}  error_resolution"]


def test_pending_is_request_json(run: Run) -> None:
    document = faber("pending", "--json").document

    assert document["next_cursor"] is None
    assert [item["request_id"] for item in document["items"]] == [f.pending(run).request_id]
    assert document["items"][0]["options"][0]["value"] == "approve"


def test_pending_of_another_project_is_empty(run: Run) -> None:
    assert faber("pending", "--project", "Other/App").out == "No open requests.\n"
    assert len(faber("pending", "--project", "acme/app").lines) == 2


def test_mine_are_those_i_may_answer(run: Run) -> None:
    for_others = f.step("two", confirm=True, reviewers=["somebody-else"])
    f.started(f.workflow({"build": [for_others]}))

    items = faber("pending", "--mine", "--json").document["items"]

    assert [item["run_id"] for item in items] == [run.run_id]


def test_show_prints_the_question_and_the_text_of_its_artifact(tmp_path: Path) -> None:
    write = f.step("spec", "tests.steps:write_spec", artifact="specs/spec.md")
    run = f.started(f.workflow({"architect": [{**write, "requires_approval": True}]}), tmp_path)
    request = f.pending(run)

    answer = faber("show", request.request_id)

    assert answer.code == 0
    assert answer.lines[0] == f"{request.request_id}  pending"
    assert "Phase: Architect → spec" in answer.lines
    assert "**Artifact**: specs/spec.md" in answer.lines
    assert "  1. approve - Complete the workflow" in answer.lines
    assert answer.lines[-2:] == [
        "── specs/spec.md, revision 1 ──────────",
        "# Spec, attempt 1",
    ]


def test_show_tells_who_answered(run: Run) -> None:
    request = f.pending(run)
    f.answer(run, "approve", "well done")

    answer = faber("show", request.request_id)

    assert "answered approve: well done" in answer.lines[-1]
    assert answer.lines[-1].startswith("Rita (web, ")
    assert faber("show", request.request_id, "--json").document["response"]["comment"] == (
        "well done"
    )


def test_showing_a_request_changes_nothing(run: Run) -> None:
    faber("show", f.pending(run).request_id)

    assert f.pending(run).shown_on_cli is False


@pytest.mark.parametrize("response", ["approve", "1", "LGTM", "Approve."])
def test_an_answer_may_be_an_option_its_number_or_an_alias(run: Run, response: str) -> None:
    answer = faber("answer", f.pending(run).request_id, response, "--comment", "ok", "--json")

    assert answer.code == 0
    assert answer.document["status"] == "answered"
    given = answer.document["response"]
    assert (given["response"], given["comment"]) == ("approve", "ok")
    assert given["provided_by"]["source"] == "cli"
    assert f.fresh(run).status == "in_progress"


def test_without_a_worker_the_answer_says_who_could_go_on(run: Run) -> None:
    answer = faber("answer", f.pending(run).request_id, "approve")

    assert "No worker is running." in answer.err
    assert f"`faber resume {run.short_id}`" in answer.err


def test_without_a_broker_the_answer_says_that_it_waits_for_it(
    run: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.use_none(settings, monkeypatch)

    answer = faber("answer", f.pending(run).request_id, "approve")

    assert "The broker of the job queue is out of reach." in answer.err
    assert "No worker" not in answer.err
    assert f"`faber resume {run.short_id}`" in answer.err


def test_the_words_may_come_from_a_file_or_from_standard_input(run: Run, tmp_path: Path) -> None:
    words = tmp_path / "words.md"
    words.write_text("Use two layers.\nNot three.\n")

    faber("answer", f.pending(run).request_id, "2", "--comment-file", str(words))
    f.work(run)
    faber("answer", f.pending(run).request_id, "2", "--comment-file", "-", stdin="Now one.")

    comments = list(FeedbackResponse.objects.values_list("comment", flat=True))
    assert comments == ["Use two layers.\nNot three.", "Now one."]


def test_typed_questions_are_answered_line_by_line_or_as_json() -> None:
    run = f.started(f.typed_questions())
    request_id = f.pending(run).request_id

    wrong = faber("answer", request_id, "rows: many")
    right = faber("answer", request_id, '{"rows": 12}', "--json")

    assert (wrong.code, wrong.err) == (7, 'rows: must be a number, not "many"\n')
    assert right.document["response"]["values"] == {"rows": 12}


def test_requesting_changes_needs_words(run: Run) -> None:
    answer = faber("answer", f.pending(run).request_id, "request_changes")

    assert answer.code == 7
    assert answer.err == "Say what should change when you choose request_changes.\n"


def test_an_unknown_option_is_refused_with_those_there_are(run: Run) -> None:
    answer = faber("answer", f.pending(run).request_id, "maybe", "--json")

    assert answer.code == 7
    error = answer.document["error"]
    assert (error["code"], error["details"]["options"]) == (
        "invalid_response",
        ["approve", "request_changes", "reject"],
    )


def test_a_second_answer_is_refused_and_told_about_the_first(run: Run) -> None:
    request_id = f.pending(run).request_id
    f.answer(run, "approve")

    answer = faber("answer", request_id, "reject", "--json")

    assert answer.code == 7
    assert answer.document["error"]["code"] == "already_answered"
    assert answer.err.startswith("Already answered: Rita chose approve (web, ")


def test_who_started_a_run_may_be_kept_from_answering(run: Run, settings: Settings) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    Run.objects.update(started_by_account=cli_actor().account)

    answer = faber("answer", f.pending(run).request_id, "approve", "--json")

    assert (answer.code, answer.document["error"]["code"]) == (7, "not_allowed")


@pytest.mark.parametrize("command", ["show", "answer"])
def test_an_unknown_request_is_not_found(command: str) -> None:
    words = ["approve"] if command == "answer" else []

    answer = faber(command, "fr-20261116-000000", *words)

    assert (answer.code, answer.out) == (6, "")
    assert "fr-20261116-000000" in answer.err


def test_a_missing_comment_file_answers_nothing(run: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")

    answer = faber("answer", f.pending(run).request_id, "approve", "--comment-file", missing)

    assert answer.code == 6
    assert f.pending(run).status == "pending"


def test_an_answer_to_a_file_that_changed_says_that_the_run_asks_again(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path)
    asked = f.pending(run)
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    answer = faber("answer", asked.request_id, "approve")

    again = f.pending(run)
    assert answer.code == 0
    assert "Answer recorded. The content changed" in answer.err
    assert "specs/spec.md changed after revision 1 was shown: now revision 2." in answer.err
    assert f"faber answer {again.request_id} approve" in answer.err
    assert "# Another spec" in faber("show", again.request_id).out


def test_resuming_with_an_answer_to_a_file_that_changed_leaves_the_run_waiting(
    tmp_path: Path,
) -> None:
    run = f.spec_reviewed(tmp_path)
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    answer = faber("resume", run.run_id, "approve")

    assert answer.code == 3
    assert "specs/spec.md changed after revision 1 was shown: now revision 2." in answer.err
    assert not run.attempts.filter(step="use").exists()
