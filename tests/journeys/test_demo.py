"""The demo, walked from its start to the merge, with a worker that is called by hand."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from feedback.models import FeedbackRequest
from feedback.requests.answers import Words, respond
from runs import demo, engine
from runs.demo.write_spec import Remark, disposition, points_of
from runs.domain.values.status import RunStatus
from runs.engine import Claim, conformance, starting
from runs.models import Project, Run
from runs.worker import advance
from tests.factories import STARTER, answer, answered, fresh, lose, pending, person, told, work

pytestmark = pytest.mark.django_db(transaction=True)

SPEC = "specs/csv-export.md"
WORDS = "Please separate the fields by a semicolon."


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    settings.FABER_DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def no_git_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def at_review() -> Run:
    return work(demo.start_demo())


def git(run: Run, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=run.folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def revisions(run: Run) -> list[str]:
    return [kept.text for kept in run.revisions.filter(path=SPEC).order_by("revision")]


def asked(run: Run) -> FeedbackRequest:
    assert run.state is RunStatus.AWAITING_FEEDBACK
    return pending(run)


def place(run: Run) -> tuple[str, str, str]:
    request = asked(run)
    return request.type, request.phase, request.step


def suite_passes(run: Run) -> bool:
    tests = [run.inputs["python"], "-B", "-m", "unittest", "--quiet"]
    return not subprocess.run(tests, cwd=run.folder, capture_output=True, check=False).returncode


def changed_lines(before: str, after: str) -> Iterator[str]:
    return (line for line in after.splitlines() if line not in before.splitlines())


# From start to merge


def test_the_whole_journey_ends_with_a_merge_on_main(no_git_identity: None) -> None:
    run = at_review()
    assert place(run) == ("review", "architect", "write-spec")

    run = answered(run, "request_changes", WORDS)
    assert place(run) == ("review", "architect", "write-spec")

    run = answered(run, "approve")
    assert place(run) == ("error_resolution", "evaluate", "test-and-fix")

    run = answered(run, "retry")
    assert place(run) == ("approval", "release", "merge")

    run = answered(run, "approve")
    assert run.state is RunStatus.COMPLETED
    assert conformance.verdict_of(run).conforms
    assert git(run, "branch", "--show-current") == "main"
    assert git(run, "log", "-1", "--format=%s") == "Merge branch 'feat/csv-export'"
    assert git(run, "rev-list", "--count", "--merges", "main") == "1"
    assert git(run, "status", "--porcelain") == ""
    assert "def to_csv" in git(run, "show", "main:invoices.py")
    assert suite_passes(run)
    numbers = run.events.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(1, run.last_event_id + 1))


def test_the_branch_belongs_to_the_work_id() -> None:
    wish = starting.Wish(workflow="demo", workspace=Path("/"), work_id="123")

    run = work(starting.start(wish, STARTER)[0])

    assert run.artifacts["branch_name"] == "feat/123-csv-export"
    assert git(run, "branch", "--show-current") == "feat/123-csv-export"


# The review


def test_requested_changes_make_a_second_revision_that_answers_them() -> None:
    run = answered(at_review(), "request_changes", WORDS)

    first, second = revisions(run)
    added = "\n".join(changed_lines(first, second))

    assert "revision: 2" in added
    assert "## Changes after review" in added
    assert f"> {WORDS}" in added
    assert f"| R4 | {WORDS} | Rita, review 1 |" in added
    assert "**Answer.** The separator is a parameter" in added
    assert "it stay with the caller" in added  # the design itself is another one now


def test_every_revision_is_kept_with_its_hash() -> None:
    run = answered(at_review(), "request_changes", WORDS)

    kept = list(run.revisions.filter(path=SPEC).order_by("revision"))

    assert [revision.revision for revision in kept] == [1, 2]
    for revision in kept:
        assert revision.sha256 == hashlib.sha256(bytes(revision.content)).hexdigest()
    assert [str(shown) for shown in asked(run).artifacts.all()] == [f"{SPEC} revision 2"]


def test_comments_on_lines_are_answered_one_by_one() -> None:
    run = at_review()
    items = [
        {"path": SPEC, "line": 21, "body": "What does an empty list give?"},
        {"path": SPEC, "line": 3, "body": "Who | owns this?"},
    ]
    respond(asked(run).request_id, "request_changes", actor=person(), words=Words(items=items))

    run = work(run)

    text = revisions(run)[1]
    assert "### R4: Rita on line 21\n\n> What does an empty list give?" in text
    assert "### R5: Rita on line 3\n\n> Who | owns this?" in text
    assert r"| R5 | Who \| owns this? | Rita, review 1 |" in text
    assert "Still to be designed: R5." in text
    response = run.attempts.get(step="write-spec", number=2).response or {}
    dispositions = response["details"]["dispositions"]
    assert [(d["item"], d["disposition"]) for d in dispositions] == [(1, "done"), (2, "partly")]


@pytest.mark.parametrize(
    ("words", "outcome", "told"),
    [
        ("Which separator is used?", "done", "The separator is a parameter"),
        ("Please separate the fields by a semicolon.", "done", "The separator is a parameter"),
        ("Use the German column names too", "partly", "Added to the design: The columns are"),
        ("Round the amounts to whole euros", "partly", "The demo can't act on the comment beyond"),
        ("Write amounts without decimals", "partly", "The demo can't act on the comment beyond"),
        ("Cover it with tests", "partly", "The demo can't act on this comment; it was added to"),
    ],
)
def test_a_comment_is_done_only_when_the_script_did_it(words: str, outcome: str, told: str) -> None:
    (point,) = points_of([Remark(words=words, who="Rita", item=1)])

    said = disposition(point)

    assert said["disposition"] == outcome
    assert told in str(said["note"])
    assert (outcome == "done") is ("as written" not in str(said["note"]))


def test_a_third_revision_keeps_what_the_first_review_brought() -> None:
    run = answered(at_review(), "request_changes", WORDS)

    run = answered(run, "request_changes", "Name the columns.")

    third = revisions(run)[2]
    assert f"| R4 | {WORDS} | Rita, review 1 |" in third
    assert "| R5 | Name the columns. | Rita, review 2 |" in third


# The failing test


def test_the_first_test_run_fails_and_says_why() -> None:
    run = answered(at_review(), "approve")

    context = asked(run).context

    assert context["summary"] == "2 of 6 tests fail."
    assert [error.partition(":")[0] for error in context["errors"]] == [
        "test_a_credit_note_is_negative",
        "test_amounts_have_two_decimals",
    ]
    assert "12.5, not 12.50" in context["error_analysis"]
    assert context["suggested_fixes"][0].startswith("Choose retry")
    assert "FAILED (failures=2)" in context["output_tail"]


class DiesBefore(advance.Nobody):
    """A worker that does not live to execute one step."""

    def __init__(self, step: str) -> None:
        self._step = step

    def step_begins(self, claim: Claim) -> None:
        if claim.unit.step.id == self._step:
            raise ConnectionAbortedError


def test_a_step_taken_over_from_a_dead_worker_fixes_nothing() -> None:
    run = at_review()
    answer(run, "approve")
    with pytest.raises(ConnectionAbortedError):
        advance.drive(engine.claim(run.pk, "the dying"), DiesBefore("test-and-fix"))
    lose(run)

    run = work(run)

    assert run.attempts.get(step="test-and-fix", number=2).result == "failure"
    assert place(run) == ("error_resolution", "evaluate", "test-and-fix")


def test_the_approval_before_release_shows_what_would_be_merged() -> None:
    run = answered(answered(at_review(), "approve"), "retry")

    shown = {kept.path: kept.text for kept in asked(run).artifacts.all()}

    assert set(shown) == {SPEC, "notes/csv-export.md"}
    assert "+def to_csv" in shown["notes/csv-export.md"]
    assert git(run, "rev-list", "--count", "main") == "1"


# Ending early


def test_a_rejected_specification_cancels_the_run_and_leaves_the_repository() -> None:
    run = answered(at_review(), "reject", "Not this year.")

    assert run.state is RunStatus.CANCELLED
    assert "approval_denied" in told(run)
    assert "approval_granted" not in told(run)
    assert git(run, "branch", "--show-current") == "feat/csv-export"
    assert (run.folder / SPEC).is_file()


def test_a_rejected_release_merges_nothing() -> None:
    run = answered(answered(answered(at_review(), "approve"), "retry"), "reject")

    assert run.state is RunStatus.CANCELLED
    assert git(run, "rev-list", "--count", "main") == "1"


# Beside each other, and where little is installed


def test_two_demos_do_not_disturb_each_other() -> None:
    first, second = at_review(), at_review()

    first = answered(first, "request_changes", WORDS)

    assert first.workspace != second.workspace
    assert len(revisions(first)) == 2
    assert len(revisions(second)) == 1
    assert (second.folder / SPEC).read_text() == revisions(second)[0]
    assert answered(second, "approve").state is RunStatus.AWAITING_FEEDBACK


def test_a_rerun_has_a_repository_of_its_own() -> None:
    run = at_review()

    again = work(starting.rerun(run, STARTER)[0])

    assert again.workspace != run.workspace
    assert place(again) == ("review", "architect", "write-spec")


def test_the_first_start_says_who_started_and_where(data_dir: Path) -> None:
    run = demo.start_demo()

    assert run.started_by == "faber up"
    assert run.project == Project.objects.get(name="faber/demo")
    assert run.folder.parent == data_dir / "demo"
    assert run.attempts.get().status == "queued"


def test_what_is_given_from_outside_cannot_choose_the_program() -> None:
    wish = starting.Wish(
        workflow="demo", workspace=Path("/"), inputs={"python": "/bin/echo", "colour": "red"}
    )

    run, _ = starting.start(wish, STARTER)

    assert run.inputs["python"] != "/bin/echo"
    assert run.inputs["colour"] == "red"


def test_without_git_the_run_says_so_and_goes_on_once_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        run = work(demo.start_demo())
        assert asked(run).context["summary"] == "The demo needs git."

    run = answered(run, "retry")

    assert place(run) == ("review", "architect", "write-spec")


def test_a_workflow_of_the_same_name_in_the_workspace_is_left_where_it_is(tmp_path: Path) -> None:
    own = tmp_path / "work" / ".fractary" / "faber" / "workflows" / "demo.yaml"
    own.parent.mkdir(parents=True)
    own.write_text('{"id": "demo", "phases": {"build": {"steps": [{"id": "say", "run": "true"}]}}}')

    run, _ = starting.start(starting.Wish(workflow="demo", workspace=tmp_path / "work"), STARTER)

    assert run.folder == tmp_path / "work"
    assert fresh(run).frozen_plan.step_keys == ("build:say",)
