"""Whenever people are asked, what the run changed is kept with the question."""

import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from pytest_django import Settings

from runs import engine
from runs.changes import looking, store, taking
from runs.changes.values import Since
from runs.domain.responses.results import Result, ResultStatus
from runs.executors.orders import Outcome
from runs.models import CodePart, CodeSnapshot, Run
from runs.worker import settling, spool
from runs.workspaces.aside import GitFailed
from tests import factories as f
from tests.repositories import Repository, reviewed

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def repository(tmp_path: Path, settings: Settings) -> Repository:
    settings.FABER_DATA_DIR = tmp_path / "data"
    settings.FABER_DATA_DIR.mkdir()
    return Repository(tmp_path / "app")


def snapshot_of(run: Run) -> CodeSnapshot:
    kept = f.pending(run).snapshot
    assert kept
    return kept


def paths(kept: CodeSnapshot, since: Since = Since.BASE) -> list[str]:
    return [file.path for file in store.load(kept, since).listing.files]


def test_a_request_keeps_what_changed_since_the_run_began(repository: Repository) -> None:
    base = repository.head
    repository.write("app.py", "def add(*numbers):\n    return sum(numbers)\n")

    kept = snapshot_of(reviewed(repository))

    assert (kept.base, kept.files, kept.additions, kept.deletions) == (base, 1, 2, 2)
    assert kept.head != base
    assert paths(kept) == ["app.py"]


def test_without_a_repository_there_are_no_changes(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x\n")
    review = f.step("look", requires_approval=True, approval_type="review")

    run = f.started(f.workflow({"build": [review]}), tmp_path)

    assert f.pending(run).snapshot is None
    assert "changes_note" not in f.pending(run).context


def test_a_folder_of_the_site_in_somebody_s_repository_has_no_changes(
    repository: Repository, settings: Settings
) -> None:
    settings.FABER_DATA_DIR = repository.folder / "var"
    folder = repository.folder / "var" / "workspaces" / "acme"
    folder.mkdir(parents=True)
    review = f.step("look", requires_approval=True, approval_type="review")

    run = f.started(f.workflow({"build": [review]}), folder, environment={"git_commit": "unknown"})

    assert f.pending(run).snapshot is None


def test_the_snapshot_can_be_read_when_the_repository_is_gone(repository: Repository) -> None:
    repository.write("app.py", "pass\n")
    kept = snapshot_of(reviewed(repository))
    shutil.rmtree(repository.folder)

    file = store.load(CodeSnapshot.objects.get(pk=kept.pk)).listing.files[0]
    content = store.content_of(file)

    assert b"+pass\n" in (content.patch or b"")
    assert content.new == b"pass\n"


def test_what_cannot_be_read_is_a_note_and_the_run_asks(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise GitFailed("git diff-tree failed: fatal: bad object")

    monkeypatch.setattr(taking, "take", broken)

    request = f.pending(reviewed(repository))

    assert request.snapshot is None
    assert [section.title for section in request.background.sections] == ["Code changes"]
    assert request.background.changes_note == (
        "Could not read the code changes: git diff-tree failed: fatal: bad object."
    )


def test_the_round_before_is_what_the_next_is_compared_with(repository: Repository) -> None:
    repository.write("app.py", "first\n")
    repository.write("same.txt", "stays\n")
    run = reviewed(repository)
    first = snapshot_of(run)
    repository.write("app.py", "second\n")

    second = snapshot_of(f.answered(run, "request_changes", "Another word."))

    assert second.previous == first
    assert paths(second) == ["app.py", "same.txt"]
    assert paths(second, Since.ROUND) == ["app.py"]
    file = store.load(second, Since.ROUND).listing.files[0]
    assert b"-first\n+second\n" in (store.content_of(file).patch or b"")


def test_in_a_first_round_both_are_the_same(repository: Repository) -> None:
    repository.write("app.py", "first\n")
    kept = snapshot_of(reviewed(repository))

    assert store.load(kept, Since.ROUND).listing == store.load(kept).listing


def test_what_stays_the_same_is_stored_once(repository: Repository) -> None:
    repository.write("app.py", "first\n")
    run = reviewed(repository)
    before = CodePart.objects.count()

    f.answered(run, "request_changes", "Once more.")

    assert CodeSnapshot.objects.count() == 2
    assert CodePart.objects.count() == before


def test_a_worktree_s_changes_begin_where_it_left_the_base_branch(
    repository: Repository,
) -> None:
    base = repository.head
    make: f.Json = {"id": "make", "run": ["sh", "-c", "echo made > made.txt"]}
    review = f.step("look", requires_approval=True, approval_type="review")
    document = f.workflow({"build": [make, review]})
    run = f.start(document, repository.folder, worktree=engine.Worktree())
    repository.write("other.txt", "somebody else's\n")
    run = f.work(run)

    kept = snapshot_of(run)

    assert (run.base_commit, kept.base) == (base, base)
    assert paths(kept) == ["made.txt"]


def test_a_question_at_the_start_and_one_right_behind_another_have_their_changes(
    repository: Repository,
) -> None:
    repository.write("app.py", "pass\n")
    review = f.step("look", requires_approval=True, approval_type="review")
    document = f.workflow(
        {"build": [review], "release": {"require_approval": True, "steps": [f.step("ship")]}}
    )
    run = f.started(document, repository.folder, environment={"git_commit": repository.head})
    first = snapshot_of(run)

    f.answer(run, "approve")

    second = snapshot_of(f.fresh(run))
    assert second != first
    assert (second.head, paths(second)) == (first.head, ["app.py"])
    assert second.previous is None


def test_a_result_that_waited_on_disk_brings_its_snapshot_along(
    repository: Repository,
) -> None:
    repository.write("app.py", "pass\n")
    review = f.step("look", requires_approval=True, approval_type="review")
    environment = {"git_commit": repository.head}
    run = f.start(f.workflow({"build": [review]}), repository.folder, environment=environment)
    claim = engine.claim(run.pk, "here:1:worker")
    assert claim
    done = Outcome(result=Result(status=ResultStatus.SUCCESS, message="done"))
    # The worker ends before the database has it.
    with suppress(SystemExit), spool.kept(claim, engine.settlement(claim, done)):
        sys.exit()
    shutil.rmtree(repository.folder)

    settling.settle_kept()

    assert paths(snapshot_of(f.fresh(run))) == ["app.py"]


def test_nothing_is_looked_at_where_nobody_is_asked(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "look", lambda *_: pytest.fail("nobody is asked"))
    environment = {"git_commit": repository.head}

    run = f.started(
        f.workflow({"build": [f.step("one")], "evaluate": [f.step("two")]}),
        repository.folder,
        environment=environment,
    )

    assert run.status == "completed"
