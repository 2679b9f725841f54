"""What a run changed, as programs, terminals and issues read it."""

import subprocess
from pathlib import Path

import pytest

from feedback.channels.markdown import comments
from feedback.channels.trackers import replies
from feedback.terminal import card
from runs.domain.values.actors import Role, Scope
from runs.models import Run
from tests import factories as f
from tests.api_client import Program, account, body_of, error_of, program
from tests.commands import faber
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "app")


@pytest.fixture
def run(repository: Repository) -> Run:
    run = reviewed_with_commit(repository)
    repository.write("more.txt", "grown\n")
    return f.answered(run, "request_changes", "More.")


def reviewed_with_commit(repository: Repository) -> Run:
    base = repository.head
    repository.write("app.py", "def add(*numbers):\n    return sum(numbers)\n")
    repository.commit("Add any number")
    repository.write("new|file.txt", "new\n")
    (repository.folder / "data.bin").write_bytes(bytes(range(256)))
    return reviewed_since(repository, base)


def reviewed_since(repository: Repository, base: str) -> Run:
    run = f.start(
        f.workflow(
            {
                "build": [f.step("look", requires_approval=True, approval_type="review")],
                "evaluate": [f.step("use")],
            }
        ),
        repository.folder,
        environment={"git_commit": base},
    )
    return f.work(run)


@pytest.fixture
def reviewer() -> Program:
    return program(Scope.REVIEWER, account("rita", Role.REVIEWER))


def test_request_json_counts_the_changes(reviewer: Program, run: Run) -> None:
    asked = f.pending(run)
    assert asked.snapshot

    told = body_of(reviewer.get(f"/requests/{asked.request_id}"))["changes"]

    assert told == {
        "base": asked.snapshot.base,
        "head": asked.snapshot.head,
        "files": 4,
        "additions": 4,
        "deletions": 2,
        "commits": 1,
    }


def test_a_request_without_a_repository_has_no_changes(reviewer: Program, tmp_path: Path) -> None:
    asked = f.pending(f.started(f.five_steps()))

    assert body_of(reviewer.get(f"/requests/{asked.request_id}"))["changes"] is None


def test_the_call_gives_every_file_with_its_patch(reviewer: Program, run: Run) -> None:
    asked = f.pending(run)

    told = body_of(reviewer.get(f"/runs/{run.run_id}/changes"))

    assert told["request_id"] == asked.request_id
    assert told["since"] == "base"
    assert told["truncated"] is False
    assert [commit["subject"] for commit in told["commits"]] == ["Add any number"]
    assert set(told["commits"][0]) == {"sha", "subject", "author", "at"}
    app, data, *_ = told["files"]
    assert app["patch"].startswith("diff --git a/app.py b/app.py\n")
    del app["patch"]
    assert app == {
        "path": "app.py",
        "old_path": None,
        "status": "modified",
        "additions": 2,
        "deletions": 2,
        "binary": False,
        "truncated": False,
    }
    assert (data["path"], data["binary"], data["patch"]) == ("data.bin", True, None)


def test_the_call_gives_what_grew_since_the_round_before(reviewer: Program, run: Run) -> None:
    first, second = run.requests.order_by("pk")

    def paths(query: str) -> list[str]:
        told = body_of(reviewer.get(f"/runs/{run.short_id}/changes?{query}"))
        return [file["path"] for file in told["files"]]

    assert paths("since=round") == ["more.txt"]
    assert paths(f"request={second.request_id}&since=round") == ["more.txt"]
    assert paths(f"request={first.request_id}&since=round") == [
        *("app.py", "data.bin", "new|file.txt")
    ]


def test_what_is_not_there_is_a_404(reviewer: Program, run: Run) -> None:
    without = f.started(f.five_steps())

    nothing = reviewer.get(f"/runs/{without.run_id}/changes")
    assert (nothing.status_code, error_of(nothing)["code"]) == (404, "no_changes")
    other = f"request={f.pending(without).request_id}"
    assert error_of(reviewer.get(f"/runs/{run.run_id}/changes?{other}"))["code"] == "not_found"
    assert reviewer.get(f"/runs/{run.run_id}/changes?since=ever").status_code == 422


def test_git_applies_what_the_command_prints(
    repository: Repository, run: Run, tmp_path: Path
) -> None:
    (repository.folder / "data.bin").unlink()
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.folder), str(clone)], check=True)
    subprocess.run(["git", "checkout", "-q", "HEAD^"], cwd=clone, check=True)

    printed = faber("diff", run.short_id).out
    subprocess.run(["git", "apply", "-"], cwd=clone, input=printed, text=True, check=True)

    for name in ("app.py", "more.txt", "new|file.txt"):
        assert (clone / name).read_text() == (repository.folder / name).read_text()


def test_the_command_counts_and_narrows(run: Run) -> None:
    first = run.requests.order_by("pk")[0]

    assert faber("diff", run.short_id, "--stat").lines == [
        " app.py       | 4 ++--",
        " data.bin     | binary",
        " more.txt     | 1 +",
        " new|file.txt | 1 +",
        " 4 files changed, +4 −2",
    ]
    assert faber("diff", run.short_id, "--stat", "--since", "round").lines[0] == " more.txt | 1 +"
    narrowed = faber("diff", run.short_id, "--stat", "--request", first.request_id)
    assert narrowed.lines[-1] == " 3 files changed, +3 −2"
    assert faber("diff", run.short_id, "--json").document["files"][0]["path"] == "app.py"


def test_the_command_says_that_there_is_nothing(run: Run) -> None:
    without = f.started(f.five_steps())

    assert faber("diff", without.short_id).code == 6


def test_the_issue_comment_lists_the_files_folded(run: Run) -> None:
    told = comments.request_comment(replies.shown(f.pending(run)))

    assert "[4 files changed, +4 −2, 1 commit](" in told
    assert "<summary>Files</summary>" in told
    assert "| `app.py` | +2 −2 |" in told
    assert "| `new\\|file.txt` | +1 −0, added |" in told
    assert "| `data.bin` | binary, added |" in told


def test_the_card_tells_how_much_changed_and_how_to_see_it(run: Run) -> None:
    told = card.inline(f.pending(run))

    assert f"**Changes**: 4 files changed, +4 −2, 1 commit (faber diff {run.short_id})" in told


def test_a_review_of_what_was_not_changed_says_nothing(repository: Repository) -> None:
    told = card.inline(f.pending(reviewed(repository)))

    assert "Changes" not in told
