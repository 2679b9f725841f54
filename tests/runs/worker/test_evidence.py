"""A step counts as done when what it must leave behind is there, whatever it says."""

import os
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from runs import engine
from runs.engine import conformance
from runs.models import Run
from runs.worker import advance, remote
from runs.worker.lease import Lease
from runs.worker.packages import Packages
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DONE: f.Json = {"status": "success", "message": "done"}


@pytest.fixture(autouse=True)
def own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{key}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{key}_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "readme").write_text("hello\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def shell(command: str) -> f.Json:
    return {"run": ["sh", "-c", command]}


def executed(folder: Path, command: str, evidence: object, **fields: object) -> Run:
    """A run whose only step executes a command and must show evidence."""
    step = {"id": "make", **shell(command), "evidence": evidence, **fields}
    return f.started(f.workflow({"build": [step]}), folder, work_id="12")


def told(run: Run) -> list[tuple[str, str, str]]:
    """What was looked for at the last attempt: kind, outcome, words."""
    attempt = run.attempts.order_by("pk").last()
    assert attempt
    return [(piece["kind"], piece["standing"], piece["words"]) for piece in attempt.evidence]


def refused(run: Run) -> list[str]:
    request = f.pending(run)
    assert request.type == "error_resolution"
    errors: list[str] = request.context["errors"]
    return errors


COMMIT = "echo more >> readme && git commit -qam second"
NO_COMMIT = ["No new commit since the step started."]


def test_a_new_commit_lets_a_step_count(repository: Path) -> None:
    run = executed(repository, COMMIT, "commit")

    head = git(repository, "rev-parse", "HEAD")
    assert run.status == "completed"
    assert told(run) == [("commit", "found", f"New commit {head[:10]}.")]


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "echo dirty >> readme",
        "git checkout -q -b feature",
        "git reset -q --hard HEAD~1",
        "git tag v1",
        "git checkout -q old",
    ],
)
def test_without_a_new_commit_the_step_has_failed(repository: Path, command: str) -> None:
    git(repository, "checkout", "-q", "-b", "old")
    git(repository, "commit", "-q", "--allow-empty", "-m", "on old")
    git(repository, "checkout", "-q", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "on main")

    run = executed(repository, command, "commit")

    assert run.status == "awaiting_feedback"
    assert refused(run) == NO_COMMIT
    assert f.story(run)[-3] == "step_error build:make"


def test_a_commit_on_a_new_branch_and_an_amended_one_are_new(repository: Path) -> None:
    assert (
        executed(repository, f"git checkout -qb feat && {COMMIT}", "commit").status == "completed"
    )
    amend = "git commit -q --amend --allow-empty -m better"
    assert executed(repository, amend, "commit").status == "completed"


def test_a_commit_on_the_branch_that_the_response_names_counts(repository: Path) -> None:
    elsewhere = repository.parent / "elsewhere"
    git(repository, "worktree", "add", "-q", "-b", "feat/x", str(elsewhere))
    answer = '{"status":"success","message":"x","details":{"branch_name":"feat/x"}}'
    command = f"cd {elsewhere} && git commit -q --allow-empty -m x && echo '{answer}'"

    assert executed(repository, command, "commit").status == "completed"


def test_a_commit_on_the_branch_that_an_earlier_step_named_counts(repository: Path) -> None:
    elsewhere = repository.parent / "elsewhere"
    git(repository, "worktree", "add", "-q", "-b", "feat/x", str(elsewhere))
    answer = '{"status":"success","message":"x","details":{"branch_name":"feat/x"}}'
    commit = f"cd {elsewhere} && git commit -q --allow-empty -m x"
    steps = [
        {"id": "branch", **shell(f"echo '{answer}'")},
        {"id": "make", **shell(commit), "evidence": "commit"},
    ]

    assert f.started(f.workflow({"build": steps}), repository).status == "completed"


def test_a_commit_of_no_branch_that_was_checked_out_before_is_not_new(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    git(repository, "commit", "-q", "--allow-empty", "-m", "on no branch")

    assert refused(executed(repository, "true", "commit")) == NO_COMMIT


def test_a_new_commit_counts_where_the_step_threw_the_old_ones_away(repository: Path) -> None:
    amend = "git commit -q --amend --allow-empty -m better"
    forget = "git reflog expire --expire=now --all && git gc -q --prune=now"

    assert executed(repository, f"{amend} && {forget}", "commit").status == "completed"


def test_the_first_commit_of_a_repository_made_by_the_step_counts(tmp_path: Path) -> None:
    run = executed(tmp_path, "git init -q . && git commit -q --allow-empty -m x", "commit")

    assert run.status == "completed"


def test_without_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    run = executed(tmp_path, "true", "commit")

    assert refused(run) == ["The workspace is not a git repository, so there is no commit."]


def test_a_commit_made_before_the_worker_died_counts_for_the_attempt_that_goes_on(
    repository: Path,
) -> None:
    once = f"test -e done || {{ {COMMIT}; touch done; }}"
    step = {"id": "make", **shell(once), "evidence": "commit"}
    run = f.start(f.workflow({"build": [step]}), repository)
    claim = engine.claim(run.pk, "dies")
    assert claim
    with Lease(claim, advance.Nobody().line) as lease:
        advance._prepared(claim, None, lease, Packages())()
    f.lose(run)

    run = f.work(run)

    assert run.status == "completed"
    assert [a.status for a in run.attempts.order_by("pk")] == ["lost", "finished"]


def test_a_file_must_be_there(tmp_path: Path) -> None:
    evidence = [{"file": "dist/{work_id}.js"}, {"file": "dist/other.js"}]

    run = executed(tmp_path, "mkdir dist && touch dist/12.js", evidence)

    assert refused(run) == ["dist/other.js not found."]
    assert [piece[1] for piece in told(run)] == ["found", "missing"]


@pytest.mark.parametrize(
    ("command", "told_why"),
    [
        ("ln -s /etc/hostname out", "out is outside the workspace."),
        ("ln -s /etc out", "out is outside the workspace."),
        ("mkdir out", "out is not a file."),
        ("ln -s gone out", "out not found."),
    ],
)
def test_a_link_or_folder_is_no_file_of_the_workspace(
    tmp_path: Path, command: str, told_why: str
) -> None:
    assert refused(executed(tmp_path, command, {"file": "out"})) == [told_why]


def test_a_link_that_leads_in_circles_is_no_file(tmp_path: Path) -> None:
    run = executed(tmp_path, "ln -s out out", {"file": "out"})

    assert [piece[:2] for piece in told(run)] == [("file", "missing")]
    assert len(refused(run)) == 1


def test_a_placeholder_leads_no_file_out_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "code"
    folder.mkdir()
    step = {"id": "make", **shell("true"), "evidence": {"file": "{where}/secret"}}

    run = f.started(f.workflow({"build": [step]}), folder, inputs={"where": ".."})

    assert refused(run) == ["../secret is outside the workspace."]


def test_an_artifact_must_be_made_changed_or_handed_in(tmp_path: Path) -> None:
    spec = {"artifact": "spec.md"}
    answer = '{"status":"success","message":"x","details":{"spec_path":"/spec.md"}}'

    assert refused(executed(tmp_path, "true", spec)) == ["spec.md not found."]
    made = executed(tmp_path, "echo one > spec.md", spec)
    assert refused(executed(tmp_path, "touch spec.md", spec)) == [
        "spec.md already existed, and the step did not change it."
    ]
    assert executed(tmp_path, "echo two > spec.md", spec).status == "completed"
    assert executed(tmp_path, f"echo '{answer}'", spec).status == "completed"
    assert made.status == "completed"
    assert made.revisions.get().text == "one\n"


def test_a_command_must_end_well_and_is_shown_with_what_it_printed(tmp_path: Path) -> None:
    run = executed(tmp_path, "touch made", {"command": "sh -c 'echo looking; test -e made'"})

    assert run.status == "completed"
    assert told(run) == [
        ("command", "found", "`sh -c 'echo looking; test -e made'` ended with exit code 0.")
    ]
    assert "$ sh -c 'echo looking; test -e made'\nlooking" in run.attempts.get().output.text(
        "stdout"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ["sh", "-c", "echo 3 tests failed >&2; exit 2"],
            "The command failed with exit code 2. 3 tests failed",
        ),
        (["no-such-program"], "The command 'no-such-program' was not found."),
        (["sleep", "60"], "The step timed out after 1 second."),
    ],
)
def test_a_command_that_does_not_end_well_fails_its_step(
    tmp_path: Path, command: list[str], words: str
) -> None:
    (why,) = refused(executed(tmp_path, "true", {"command": command}, timeout=1))

    assert why.endswith(words)


def test_a_command_of_evidence_has_no_shell_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABER_SECRET_KEY", "s3cret")
    look = 'test -z "$FABER_SECRET_KEY" && test "$FABER_STEP" = make && test "$1" = \'a; b\''
    step = {
        "id": "make",
        **shell("true"),
        "evidence": {"command": ["sh", "-c", look, "sh", "{what}"]},
    }

    run = f.started(f.workflow({"build": [step]}), tmp_path, inputs={"what": "a; b"})

    assert run.status == "completed"


def test_a_python_step_shows_evidence_too(tmp_path: Path) -> None:
    step = f.step("make", "tests.steps:write_spec", evidence={"artifact": "specs/spec.md"})

    assert f.started(f.workflow({"build": [step]}), tmp_path).status == "completed"


def test_a_step_that_failed_by_itself_is_not_asked_for_evidence(tmp_path: Path) -> None:
    run = executed(tmp_path, "exit 3", {"command": "touch looked"})

    assert told(run) == []
    assert not (tmp_path / "looked").exists()


def test_a_warning_lacks_its_evidence_like_a_success(tmp_path: Path) -> None:
    answer = '{"status":"warning","message":"x","warnings":["slow"]}'

    assert refused(executed(tmp_path, f"echo '{answer}'", {"file": "gone"})) == ["gone not found."]


def test_missing_evidence_keeps_what_the_step_said_and_counts_nothing_of_it(tmp_path: Path) -> None:
    answer = '{"status":"success","message":"shipped","details":{"branch_name":"feat/x"}}'

    run = executed(tmp_path, f"echo '{answer}'", {"file": "gone"})

    attempt = run.attempts.get()
    assert attempt.response is not None
    assert attempt.response["details"]["claimed"]["message"] == "shipped"
    assert run.artifacts == {}
    assert "branch_create" not in f.told(run)


def test_a_file_handed_in_without_the_evidence_is_no_artifact_of_the_run() -> None:
    run = away(None, [{"artifact": "spec.md"}, {"artifact": "plan.md"}])

    run = finish(run, files=(("spec.md", b"# Spec"),))

    assert refused(run) == ["plan.md was not submitted."]
    assert not run.revisions.exists()


def test_the_end_of_a_step_tells_what_was_checked(tmp_path: Path) -> None:
    step = {**shell("touch a"), "id": "make", "requires_approval": True, "evidence": {"file": "a"}}
    run = f.answered(f.started(f.workflow({"build": [step]}), tmp_path), "approve")

    ended = run.events.get(type="step_complete").document["metadata"]
    assert ended["evidence"] == [
        {"kind": "file", "wanted": "a", "standing": "found", "words": "a exists."}
    ]
    failed = executed(tmp_path, "true", {"file": "b"}).events.get(type="step_error").document
    assert failed["metadata"]["evidence"][0]["standing"] == "missing"


def test_once_the_evidence_is_there_a_retry_goes_on(tmp_path: Path) -> None:
    run = executed(tmp_path, "true", {"file": "b"})
    (tmp_path / "b").touch()

    run = f.answered(run, "retry")

    assert run.status == "completed"
    assert conformance.verdict_of(run).conforms


# Executors outside


def away(folder: Path | None, evidence: object) -> Run:
    step: f.Json = {"id": "make", "remote": True, "evidence": evidence}
    return f.start(f.workflow({"build": [step]}), folder or remote.own_folder("Acme/App"))


def finish(run: Run, response: f.Json = DONE, files: tuple[tuple[str, bytes], ...] = ()) -> Run:
    lease = str(remote.take(run, "laptop")["lease"])
    remote.finish(run, lease, response, remote.sent_files(files))
    return f.fresh(run)


def test_a_remote_step_in_a_folder_of_this_machine_is_held_to_its_evidence(
    repository: Path,
) -> None:
    wanted = ["commit", {"file": "made"}, {"command": "test -e made"}]
    run = away(repository, wanted)
    lease = str(remote.take(run, "laptop")["lease"])
    (repository / "made").touch()
    remote.finish(run, lease, DONE)
    assert refused(f.work(run)) == NO_COMMIT

    f.answer(run, "retry")
    lease = str(remote.take(run, "laptop")["lease"])
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    remote.finish(run, lease, DONE)

    assert f.work(run).status == "completed"
    assert [piece[1] for piece in told(run)] == ["found", "found", "found"]


def test_evidence_commands_of_a_remote_step_wait_for_a_worker(repository: Path) -> None:
    run = away(repository, {"command": "touch looked"})
    lease = str(remote.take(run, "laptop")["lease"])

    remote.finish(run, lease, DONE)

    assert not (repository / "looked").exists()
    assert remote.take(f.fresh(run), "laptop") == {"action": "wait", "request_id": None}
    with pytest.raises(remote.LeaseLost):
        remote.finish(run, lease, DONE)
    assert f.work(run).status == "completed"
    assert (repository / "looked").exists()


def test_what_was_handed_in_outlives_the_worker_that_looked_for_its_evidence(
    repository: Path,
) -> None:
    run = away(repository, {"command": "true"})
    lease = str(remote.take(run, "laptop")["lease"])
    remote.finish(run, lease, DONE, remote.sent_files([("spec.md", b"# Spec")]))
    assert engine.claim(run.pk, "a worker that dies")
    f.lose(run)

    run = f.work(run)

    assert run.status == "completed"
    assert run.revisions.get().text == "# Spec"


def test_a_file_that_a_remote_step_only_names_is_not_read_from_this_machine(
    repository: Path,
) -> None:
    (repository / ".env").write_text("PASSWORD=hunter2")
    run = away(repository, [])

    run = finish(run, {**DONE, "details": {"artifact_path": ".env"}})

    assert run.status == "completed"
    assert not run.revisions.exists()


def test_what_a_remote_step_did_on_another_machine_is_not_looked_for_and_that_is_said() -> None:
    run = finish(away(None, ["commit", {"file": "x"}, {"command": "false"}]))

    assert run.status == "completed"
    unseen = "Not checked: the step ran on another machine."
    assert told(run) == [(kind, "unchecked", unseen) for kind in ("commit", "file", "command")]


def test_an_artifact_of_another_machine_must_be_sent() -> None:
    run = finish(away(None, {"artifact": "spec.md"}))
    assert refused(run) == ["spec.md was not submitted."]

    f.answer(run, "retry")
    run = finish(run, files=(("spec.md", b"# Spec"),))

    assert run.status == "completed"
    assert run.revisions.get().text == "# Spec"


@pytest.mark.parametrize(
    "lie",
    [
        {"step": "other"},
        {"details": {"steps_completed": ["make", "check"]}},
        {"details": {"all_done": True}},
    ],
)
def test_a_remote_executor_that_claims_more_than_its_step_is_refused(lie: f.Json) -> None:
    steps: list[f.Json] = [{"id": name, "remote": True} for name in ("make", "check")]
    run = finish(f.start(f.workflow({"build": steps})), {**DONE, **lie}, (("x.md", b"x"),))

    assert f.pending(run).type == "error_resolution"
    assert "divergence build:make" in f.story(run)
    assert not run.revisions.exists()


def test_a_remote_step_of_a_changed_plan_is_not_handed_out() -> None:
    run = f.start(f.workflow({"build": [{"id": "make", "remote": True}]}))
    Run.objects.filter(pk=run.pk).update(plan={"nonsense": True})

    assert remote.take(f.fresh(run), "laptop") == {"action": "done", "status": "failed"}


def test_a_remote_step_is_not_taken_back_on_a_changed_plan() -> None:
    run = f.start(f.workflow({"build": [{"id": "make", "remote": True}]}))
    lease = str(remote.take(run, "laptop")["lease"])
    Run.objects.filter(pk=run.pk).update(plan={"nonsense": True})

    with pytest.raises(remote.LeaseLost, match="differs from the one this run started with"):
        remote.finish(f.fresh(run), lease, DONE)

    assert f.fresh(run).status == "failed"


def test_the_page_of_the_run_shows_what_was_checked(admin_client: Client, tmp_path: Path) -> None:
    run = executed(tmp_path, "touch here", [{"file": "here"}, {"file": "gone"}])

    page = admin_client.get(f"/runs/{run.run_id}/").content.decode()

    assert "here exists." in page
    assert "gone not found." in page


def test_a_claim_counts_although_the_evidence_is_missing_too(tmp_path: Path) -> None:
    answer = '{"status": "success", "message": "done", "steps_completed": ["make", "deploy-app"]}'
    run = executed(tmp_path, f"echo '{answer}'", {"file": "never-made"})

    assert "divergence" in f.told(run)
    assert told(run) == []
