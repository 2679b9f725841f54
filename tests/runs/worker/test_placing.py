"""A run's steps are executed on the machine that has its folder, or not at all."""

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as site
from django_q.models import OrmQ
from pytest_django import Settings

from feedback.terminal.session import Attendant
from runs.domain.values.status import RunStatus
from runs.engine import Worktree, recovery
from runs.jobs import names, queue, register
from runs.jobs.database.broker import WokenBroker
from runs.jobs.table import Job, Lane
from runs.models import Run, StepAttempt, machine
from runs.worker import advance, placing
from runs.workspaces import recognising
from tests import factories as f
from tests.machines import ON_SHARED_DATABASE, Become, becoming, was_last_seen

pytestmark = [pytest.mark.django_db, *ON_SHARED_DATABASE]

MAKE: f.Json = {"id": "make", "run": ["sh", "-c", "echo made > made.txt"]}
COMMIT: f.Json = {"id": "commit", "run": ["sh", "-c", "git add --all && git commit -qm Made"]}
ASK = f.step("ask", requires_approval=True)
LOOK: f.Json = {"id": "look", "run": ["cat", "made.txt"]}
A_WHILE = timedelta(hours=1)


@pytest.fixture
def become(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Become:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    placing._has_others.cache_clear()
    return becoming(settings, tmp_path)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "--initial-branch=main")
    (folder / "readme.md").write_text("An app.\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "First")
    return folder


def clones(become: Become) -> tuple[Path, Path]:
    """The same place in two data directories: a repository, and a clone of it."""
    second = become("second") / "app"
    first = repository(become("first") / "app")
    git(first, "clone", "-q", str(first), str(second))
    return first, second


def asking(folder: Path, *steps: f.Json) -> Run:
    run = f.started(f.workflow({"build": [*steps, ASK, LOOK]}), folder)
    assert run.state is RunStatus.AWAITING_FEEDBACK, run.error
    return run


def take(run: Run) -> None:
    """Do what a worker of the present machine does with the run's job."""
    advance.advance_run(run.pk)


def last(run: Run) -> StepAttempt:
    found = run.attempts.order_by("pk").last()
    assert found is not None
    return found


def jobs_of(host: str) -> int:
    return int(OrmQ.objects.filter(key=names.queue_of(Lane.STEPS, host)).count())


def test_a_step_goes_to_the_machine_that_executed_the_one_before(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")

    become("second")
    take(run)

    waiting = last(run)
    assert (waiting.status, waiting.host, waiting.worker) == ("queued", "first", "")
    assert jobs_of("first") == 1
    become("first")
    take(run)
    assert f.fresh(run).state is RunStatus.COMPLETED
    assert last(run).worker.startswith("first:")


def test_only_that_machine_takes_its_job(become: Become) -> None:
    become("first")
    queue.hand_to("second", Job.ADVANCE_RUN, 7)
    broker = WokenBroker()

    assert broker._take() == []
    become("second")
    assert len(broker._take()) == 1


def test_a_machine_that_restarts_is_waited_for(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")
    register.leave()

    become("second")
    take(run)

    assert last(run).host == "first"


def test_without_that_machine_the_step_is_refused_with_a_sentence(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    head = git(first, "rev-parse", "HEAD")
    f.answer(run, "approve")
    become("second")
    was_last_seen("first", A_WHILE)

    take(run)

    request = f.pending(run)
    assert request.prompt.startswith("“look” can’t start: its last step left ")
    assert f"on first at commit {head[:12]}; first has had no worker since " in request.prompt
    assert "Start `faber work` on first, or bring " in request.prompt
    assert [option["value"] for option in request.options] == ["retry", "abort"]
    assert "made.txt" not in last(run).message


def test_a_refused_step_goes_on_when_the_machine_is_back(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")
    become("second")
    was_last_seen("first", A_WHILE)
    take(run)

    f.answer(run, "retry")
    become("first")
    take(run)

    assert f.fresh(run).state is RunStatus.COMPLETED


def test_a_clone_that_was_brought_to_the_commit_will_do_when_the_machine_is_gone(
    become: Become,
) -> None:
    first, second = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")
    git(second, "pull", "-q", str(first), "main")
    become("second")
    was_last_seen("first", A_WHILE)

    take(run)

    run = f.fresh(run)
    assert (run.state, run.host) == (RunStatus.COMPLETED, "second")


def test_what_was_not_committed_is_missed_although_the_commit_is_there(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE)
    f.answer(run, "approve")
    become("second")
    was_last_seen("first", A_WHILE)

    take(run)

    assert f.fresh(run).left_commit == ""
    assert "second does not have its files" in f.pending(run).prompt


def test_a_shared_folder_will_do_at_once(become: Become, tmp_path: Path) -> None:
    become("second")
    become("first")
    run = asking(repository(tmp_path / "shared"), MAKE)
    f.answer(run, "approve")

    become("second")
    take(run)

    run = f.fresh(run)
    assert (run.state, run.host) == (RunStatus.COMPLETED, "second")


def test_worktrees_stay_with_the_data_directory_they_were_made_in(
    become: Become, tmp_path: Path
) -> None:
    become("second")
    become("first")
    document = f.workflow({"build": [MAKE, ASK, LOOK]})
    run = f.started(document, repository(tmp_path / "shared"), worktree=Worktree())
    f.answer(run, "approve")

    become("second")
    take(run)
    assert last(run).host == "first"
    become("first")
    take(run)

    assert f.fresh(run).state is RunStatus.COMPLETED


def test_a_machine_with_a_new_name_goes_on_with_its_runs(
    become: Become, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    run = asking(repository(tmp_path / "moved"), MAKE)
    f.answer(run, "approve")
    # It was started again: nothing of its disks is as it was but what is on them.
    monkeypatch.setattr(recognising, "mark_of", lambda run: "another")
    register.leave()
    settings.FABER_MACHINE_NAME = "renamed"
    register.tell(register.this_machine(works=True))

    take(run)

    assert f.fresh(run).state is RunStatus.COMPLETED


def test_another_data_directory_is_another_machine_whatever_its_name(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")
    (site.FABER_DATA_DIR / "machine_id").write_text("somebody else's")
    shutil.rmtree(first)
    repository(first)
    machine._identity_in.cache_clear()

    take(run)

    assert f.fresh(run).state is RunStatus.AWAITING_FEEDBACK
    assert "retry" in f.pending(run).prompt


def test_a_first_step_goes_to_a_machine_that_has_the_folder(become: Become) -> None:
    become("second")
    run = f.start(f.workflow({"build": [MAKE]}), repository(become("first") / "app"))

    become("second")
    take(run)
    assert (last(run).status, last(run).host) == ("queued", "first")
    become("first")
    take(run)

    assert f.fresh(run).state is RunStatus.COMPLETED


def test_a_folder_that_no_machine_has_is_named_with_the_machines(become: Become) -> None:
    folder = repository(become("first") / "app")
    run = f.start(f.workflow({"build": [MAKE]}), folder)
    shutil.rmtree(folder)

    become("second")
    take(run)  # it may be on the first
    become("first")
    take(run)

    said = f.pending(run).prompt
    assert f"no machine of this site has the folder {folder} (checked first, second)" in said


def test_a_step_that_waits_for_a_busy_machine_is_not_queued_again(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    f.answer(run, "approve")
    become("second")
    take(run)
    OrmQ.objects.filter(key="faber").delete()
    StepAttempt.objects.update(queued_at=last(run).queued_at - A_WHILE)

    assert recovery.requeue_stranded() == 0
    OrmQ.objects.all().delete()
    assert recovery.requeue_stranded() == 1


def test_jobs_of_a_machine_that_is_gone_are_for_everybody(become: Become) -> None:
    become("first")
    become("second")
    queue.hand_to("first", Job.ADVANCE_RUN, 7)
    register.catch_up()
    assert jobs_of("first") == 1

    was_last_seen("first", A_WHILE)
    register.catch_up()

    assert jobs_of("first") == 0
    assert OrmQ.objects.filter(key="faber").count() == 1


def test_a_terminal_leaves_the_step_to_the_machine_that_has_the_folder(become: Become) -> None:
    first, _ = clones(become)
    run = asking(first, MAKE, COMMIT)
    become("second")
    said: list[str] = []
    attendant = Attendant(f.STARTER, said.append, prompts=False)
    attendant.answer(f.pending(run), "approve", "")

    advance.drive(attendant._claim)

    assert not placing.is_for_us(last(run))
    was_last_seen("first", A_WHILE)
    assert placing.is_for_us(last(run))


def test_where_the_last_step_was_executed_stands_with_the_run(become: Become) -> None:
    first, _ = clones(become)

    run = asking(first, MAKE, COMMIT)

    assert (run.host, run.left_commit) == ("first", git(first, "rev-parse", "HEAD"))


def test_a_site_without_other_machines_asks_git_nothing(become: Become) -> None:
    run = asking(repository(become("only") / "app"), MAKE, COMMIT)

    assert (run.host, run.left_commit) == ("only", "")


def labelled(settings: Settings, become: Become, name: str, *labels: str) -> Path:
    settings.FABER_WORKER_LABELS = labels
    return become(name)


def test_a_step_goes_to_a_machine_with_its_labels(
    settings: Settings, become: Become, tmp_path: Path
) -> None:
    labelled(settings, become, "with-gpu", "gpu", "linux")
    labelled(settings, become, "plain", "linux")
    train = f.step("train", needs=["gpu"])

    run = f.started(f.workflow({"build": [f.step("prepare"), train]}), tmp_path)

    waiting = run.attempts.get(status=StepAttempt.Status.QUEUED)
    assert (waiting.step, waiting.host) == ("train", "with-gpu")

    labelled(settings, become, "with-gpu", "gpu", "linux")
    assert f.work(run).state is RunStatus.COMPLETED


def test_a_label_that_the_machine_with_the_folder_lacks_is_asked_about(
    settings: Settings, become: Become
) -> None:
    labelled(settings, become, "with-gpu", "gpu")
    home = labelled(settings, become, "plain") / "app"
    home.mkdir()
    run = f.started(f.workflow({"build": [f.step("make"), f.step("train", needs=["gpu"])]}), home)
    labelled(settings, become, "with-gpu", "gpu")

    run = f.work(run)

    asked = str(f.pending(run).context)
    assert "it needs gpu, and its folder" in asked
    assert "is on plain, which does not have that" in asked
