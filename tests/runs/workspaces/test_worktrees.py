"""Worktrees: each run in one of its own, made in time, found again, and gone when it is done."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from django.test import Client
from django_q.models import OrmQ
from pytest_django import Settings

from faber_site.runtime.sweep import sweep
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, Refused
from runs.domain.values.status import RunStatus
from runs.engine import starting
from runs.engine.starting import Wish
from runs.models import Project, Run
from runs.pages.projects import settings as project_settings
from runs.record import state_json
from runs.workspaces import worktrees as workspaces
from tests import factories as f
from tests.commands import faber
from tests.isolation import need_isolation
from tests.jobs import work_off

pytestmark = pytest.mark.django_db

MAKE: f.Json = {"id": "make", "run": ["sh", "-c", "echo made > made.txt"]}
KEEP: f.Json = {"id": "keep", "run": ["git", "commit", "-qam", "Made"]}
ADD: f.Json = {"id": "add", "run": ["git", "add", "--all"]}
ASK = f.step("look", requires_approval=True, approval_type="review")


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    settings.FABER_DATA_DIR = tmp_path / "data"
    settings.FABER_DATA_DIR.mkdir()
    folder: Path = settings.FABER_DATA_DIR
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q", "--initial-branch=main")
    (folder / "readme.md").write_text("An app.\n")
    (folder / "part").mkdir()
    (folder / "part" / "code.py").write_text("pass\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "First")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


def wish(folder: Path, *steps: f.Json, **fields: object) -> Wish:
    document = f.workflow({"build": list(steps or (MAKE, ASK, ADD, KEEP))}, **fields)
    file = folder.parent / "own.json"
    file.write_text(json.dumps(document))
    return Wish(workflow=str(file), workspace=folder, project="Acme/App", work_id="258")


def start(folder: Path, *steps: f.Json, worktree: bool | None = True, **more: object) -> Run:
    fields = {} if worktree is None else {"worktree": worktree}
    return starting.start(wish(folder, *steps, **fields, **more), f.STARTER)[0]


def completed(run: Run) -> Run:
    run = f.answered(f.work(run), "approve")
    assert run.state is RunStatus.COMPLETED, run.error
    return run


def cancelled(run: Run) -> Run:
    return engine.cancel(run.pk, reason="not needed", actor=f.STARTER)


def worktrees(repository: Path) -> list[str]:
    lines = git(repository, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]


# Making


def test_a_run_works_on_a_branch_and_in_a_folder_of_its_own(
    repository: Path, data_dir: Path
) -> None:
    run = start(repository)
    branch = f"faber/258-{run.short_id}"
    assert run.artifacts == {"branch_name": branch}
    assert worktrees(repository) == []  # made when its turn has come, not before

    run = f.work(run)

    assert run.folder == data_dir / "worktrees" / run.run_id
    assert (run.folder / "made.txt").read_text() == "made\n"
    assert git(run.folder, "rev-parse", "--abbrev-ref", "HEAD") == branch
    assert worktrees(repository) == [str(run.folder)]
    assert not (repository / "made.txt").exists()
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert state_json.metadata_of(run)["workspace"] == str(run.folder)


@pytest.mark.parametrize("program", ["filter.own.smudge", "filter.own.clean", "core.fsmonitor"])
def test_what_a_step_sets_up_in_the_repository_does_not_see_the_data(
    repository: Path, data_dir: Path, program: str
) -> None:
    need_isolation()
    (data_dir / "secret_key").write_text("top secret")
    (repository / ".gitattributes").write_text("*.md filter=own\n")
    git(repository, "add", "--all")
    git(repository, "commit", "-qm", "Filtered")
    spy = repository.parent / "spy"
    spy.write_text(f"#!/bin/sh\ncat {data_dir}/secret_key >> {spy}.seen\ncat\n")
    spy.chmod(0o755)
    git(repository, "config", program, str(spy))

    run = f.work(start(repository))
    (run.folder / "readme.md").write_text("An ape.\n")
    cancelled(run)

    assert workspaces.discard(f.fresh(run)).startswith("it has uncommitted changes")
    seen = Path(f"{spy}.seen")
    assert not seen.exists() or "top secret" not in seen.read_text()


def test_two_runs_of_one_repository_do_not_meet(repository: Path) -> None:
    first, second = f.work(start(repository)), f.work(start(repository))

    assert first.folder != second.folder
    assert len(worktrees(repository)) == 2


def test_without_a_work_id_the_branch_is_named_after_the_workflow(repository: Path) -> None:
    asked = wish(repository, MAKE, worktree=True)
    run, _ = starting.start(Wish(workflow=asked.workflow, workspace=repository), f.STARTER)

    assert run.artifacts["branch_name"] == f"faber/small-{run.short_id}"


def test_the_project_decides_where_the_workflow_is_silent(repository: Path) -> None:
    project = Project.objects.create(name="Acme/App", worktree=True)

    assert start(repository, worktree=None).worktree_of == str(repository)
    assert start(repository, worktree=False).worktree_of == ""
    project_settings.change(project, {"worktree": False}, actor=f.STARTER)
    assert start(repository, worktree=None).worktree_of == ""
    assert start(repository, worktree=True).worktree_of == str(repository)


def test_it_begins_with_the_base_branch_of_the_project(repository: Path) -> None:
    git(repository, "switch", "-qc", "next")
    (repository / "next.md").write_text("Next.\n")
    git(repository, "add", "--all")
    git(repository, "commit", "-qm", "Next")
    assert (f.work(start(repository)).folder / "next.md").exists()

    project_settings.change(
        project_settings.find("acme/app", seen_by=None), {"base_branch": "main"}, actor=f.STARTER
    )

    assert not (f.work(start(repository)).folder / "next.md").exists()


def test_a_run_that_waited_begins_with_what_the_one_before_it_left(repository: Path) -> None:
    Project.objects.create(name="Acme/App", exclusive=True)
    first, second = start(repository), start(repository)
    completed(first)
    git(repository, "merge", "-q", "--ff-only", first.artifacts["branch_name"])

    work_off()

    assert (f.fresh(second).folder / "made.txt").read_text() == "made\n"


def test_a_folder_inside_a_repository_is_that_folder_of_the_worktree(repository: Path) -> None:
    run = completed(start(repository / "part"))

    assert run.folder.name == "part"
    assert git(repository, "show", f"{run.artifacts['branch_name']}:part/made.txt") == "made"
    work_off()
    assert worktrees(repository) == []


def no_repository(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def no_commit(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    git(folder, "init", "-q")


def branch_in_the_way(folder: Path) -> None:
    git(folder, "branch", "faber")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (no_repository, "app is not in a git repository, so it can't have worktrees"),
        (no_commit, "app has no commit to create a worktree from"),
        (branch_in_the_way, "the branch faber of .*app must be renamed first"),
    ],
)
def test_where_no_worktree_can_be_made_nothing_is_started(
    repository: Path, data_dir: Path, spoil: object, said: str
) -> None:
    spoil(repository)  # type: ignore[operator]

    with pytest.raises(Invalid, match=said):
        start(repository)

    assert not Run.objects.exists()
    assert not Project.objects.exists()
    assert list(data_dir.iterdir()) == []


def test_a_base_branch_that_is_gone_is_told_before_the_start(repository: Path) -> None:
    Project.objects.create(name="Acme/App", base_branch="gone")

    with pytest.raises(Invalid, match="app has no branch gone to create a worktree from"):
        start(repository)


def test_a_repository_that_is_gone_when_the_step_begins_is_a_failure_to_answer(
    repository: Path,
) -> None:
    run = start(repository)
    away = repository.rename(repository.with_name("away"))

    run = f.work(run)
    assert f.pending(run).type == "error_resolution"
    assert "Could not create a worktree of" in str(f.pending(run).context)
    away.rename(repository)

    assert f.answered(run, "retry").state is RunStatus.AWAITING_FEEDBACK
    assert (f.fresh(run).folder / "made.txt").exists()


# Made before, and not finished


def test_a_worktree_whose_making_was_killed_is_made_again(repository: Path) -> None:
    marker = repository.parent / "begun"
    (repository / ".gitattributes").write_text("readme.md filter=slow\n")
    git(repository, "add", "--all")
    git(repository, "commit", "-qm", "Slow")
    git(repository, "config", "filter.slow.smudge", f"sh -c 'touch {marker}; sleep 60'")
    run = start(repository)
    root, branch = workspaces.root_of(run), workspaces.branch_of(run)
    making = subprocess.Popen(
        ["git", "worktree", "add", "-b", branch, str(root)],
        cwd=repository,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    while not marker.exists():
        assert making.poll() is None
        time.sleep(0.02)
    os.killpg(making.pid, signal.SIGKILL)
    making.wait()
    assert (root / ".git").exists()
    git(repository, "config", "filter.slow.smudge", "cat")

    run = f.work(run)

    assert run.state is RunStatus.AWAITING_FEEDBACK, run.error
    assert (root / "readme.md").read_text() == "An app.\n"
    assert git(root, "rev-parse", "--abbrev-ref", "HEAD") == branch


def test_a_branch_without_its_worktree_gets_one(repository: Path) -> None:
    run = start(repository)
    git(repository, "branch", workspaces.branch_of(run))

    assert f.work(run).state is RunStatus.AWAITING_FEEDBACK


def test_a_worktree_that_somebody_deleted_comes_back_with_its_commits(repository: Path) -> None:
    run = f.work(start(repository, MAKE, ADD, KEEP, ASK, f.step("last")))
    shutil.rmtree(run.folder)

    run = f.answered(run, "approve")

    assert run.state is RunStatus.COMPLETED
    assert (run.folder / "made.txt").exists()


def test_files_that_are_no_worktree_are_never_deleted(repository: Path) -> None:
    run = f.work(start(repository))
    shutil.rmtree(repository / ".git" / "worktrees")  # as `git worktree prune` would

    run = f.answered(run, "approve")

    assert "is no longer a worktree of" in str(f.pending(run).context)
    assert (run.folder / "made.txt").exists()


# A data directory that was copied


def moved(data_dir: Path, settings: Settings) -> Path:
    copy = shutil.copytree(data_dir, data_dir.with_name("copy"), symlinks=True)
    settings.FABER_DATA_DIR = copy
    return copy


def test_a_copied_data_directory_finds_its_worktrees(
    repository: Path, data_dir: Path, settings: Settings
) -> None:
    run = f.work(start(repository))
    copy = moved(data_dir, settings)
    shutil.rmtree(data_dir)

    run = completed(run)

    assert run.folder == copy / "worktrees" / run.run_id
    assert git(repository, "show", f"{run.artifacts['branch_name']}:made.txt") == "made"
    work_off()
    assert worktrees(repository) == []
    assert not run.folder.exists()


def test_a_copy_with_its_repository_inside_leaves_the_original_alone(
    repository: Path, data_dir: Path, settings: Settings
) -> None:
    inside = repository.rename(data_dir / "app")
    run = f.work(start(inside))
    copy = moved(data_dir, settings)

    run = completed(f.fresh(run))

    branch = run.artifacts["branch_name"]
    assert run.home == copy / "app"
    assert git(copy / "app", "show", f"{branch}:made.txt") == "made"
    assert worktrees(data_dir / "app") == [str(data_dir / "worktrees" / run.run_id)]
    assert git(data_dir / "app", "rev-parse", branch) == git(data_dir / "app", "rev-parse", "main")


def test_what_the_site_itself_made_is_found_in_a_copy(
    data_dir: Path, settings: Settings, tmp_path: Path
) -> None:
    run, _ = starting.start(Wish(workflow="demo", workspace=tmp_path), f.STARTER)
    copy = moved(data_dir, settings)

    assert f.fresh(run).folder.parent == copy / "demo"
    assert (f.fresh(run).folder / "invoices.py").exists()
    project = project_settings.find("faber/demo", seen_by=None)
    assert project.folder == f.fresh(run).folder


# Afterwards


def test_after_the_release_the_worktree_goes_and_the_branch_stays(repository: Path) -> None:
    run = completed(start(repository))

    work_off()

    assert not run.folder.exists()
    assert worktrees(repository) == []
    assert git(repository, "show", f"{run.artifacts['branch_name']}:made.txt") == "made"
    workspaces.tidy(run.pk)  # a second job finds nothing to do


def test_changes_that_are_not_committed_keep_it_and_are_told(repository: Path) -> None:
    run = completed(start(repository, MAKE, ASK))

    work_off()
    sweep()

    assert (run.folder / "made.txt").exists()
    why = "it has uncommitted changes: made.txt"
    assert f.fresh(run).worktree_kept == why
    with pytest.raises(Refused, match=f"The worktree is kept: {why}."):
        workspaces.remove(f.fresh(run))
    git(run.folder, "add", "--all")
    git(run.folder, "commit", "-qm", "By hand")
    workspaces.remove(f.fresh(run))
    assert not run.folder.exists()
    assert f.fresh(run).worktree_kept == ""


def test_commits_on_no_branch_keep_it(repository: Path) -> None:
    detach: f.Json = {"id": "detach", "run": ["git", "switch", "-q", "--detach"]}
    run = completed(start(repository, detach, MAKE, ASK, ADD, KEEP))

    work_off()

    assert f.fresh(run).worktree_kept == "its last commits are not on any branch"


def test_the_sweep_removes_it_when_the_job_died(repository: Path) -> None:
    run = completed(start(repository))
    OrmQ.objects.all().delete()

    sweep()

    assert not run.folder.exists()


def test_a_removal_that_was_killed_is_finished_by_the_sweep(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = completed(start(repository))
    with monkeypatch.context() as patched:
        patched.setattr(workspaces, "_finish", lambda _run: None)
        work_off()
    leftover = run.folder.with_name(run.folder.name + ".removing")
    (leftover / "readme.md").unlink()

    sweep()

    assert not leftover.exists()
    assert worktrees(repository) == []


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.AWAITING_FEEDBACK])
def test_while_a_run_may_go_on_its_worktree_stays(repository: Path, status: RunStatus) -> None:
    run = f.work(start(repository))
    Run.objects.filter(pk=run.pk).update(status=status)

    sweep()

    assert (run.folder / "made.txt").exists()
    with pytest.raises(Refused, match="Its worktree can be removed once it has ended"):
        workspaces.remove(f.fresh(run))


def test_a_cancelled_run_keeps_it_until_an_operator_removes_it(repository: Path) -> None:
    run = cancelled(f.work(start(repository, MAKE, ADD, KEEP, ASK)))
    work_off()
    sweep()
    address = f"/runs/{run.run_id}/"
    reviewer, operator = Client(), Client()
    reviewer.force_login(users.create("rita", role=Role.REVIEWER))
    operator.force_login(users.create("otto", role=Role.OPERATOR))

    page = " ".join(operator.get(address).content.decode().split())
    assert "Worktree kept because the run did not complete" in page
    assert str(run.folder) in page
    assert "Remove worktree" in page
    assert "Remove worktree" not in reviewer.get(address).content.decode()
    assert reviewer.post(f"{address}worktree/remove/").status_code == 403
    assert run.folder.exists()

    assert operator.post(f"{address}worktree/remove/").status_code == 303
    assert not run.folder.exists()
    assert "removed, branch kept" in operator.get(address).content.decode()
    assert operator.post(f"{address}worktree/remove/").status_code == 409


def test_a_run_again_gets_a_new_worktree_of_the_same_repository(repository: Path) -> None:
    run = completed(start(repository))
    work_off()

    again, _ = starting.rerun(run, f.STARTER)

    assert again.home == repository
    assert again.artifacts["branch_name"] == f"faber/258-{again.short_id}"
    assert completed(again).folder != run.folder


def test_a_branch_that_a_step_makes_takes_the_place_of_the_first(repository: Path) -> None:
    said = json.dumps({"status": "success", "details": {"branch_name": "feat/own"}})
    switch = f"git switch -qc feat/own && echo '{said}'"
    run = completed(start(repository, {"id": "switch", "run": ["sh", "-c", switch]}, ASK))

    work_off()

    assert run.artifacts["branch_name"] == "feat/own"
    assert worktrees(repository) == []


def test_the_doctor_names_what_is_kept(repository: Path) -> None:
    run = completed(start(repository, MAKE, ASK))
    work_off()

    found = [line for line in faber("doctor").out.splitlines() if run.run_id in line]

    assert found
    assert "made.txt" in faber("doctor").out
