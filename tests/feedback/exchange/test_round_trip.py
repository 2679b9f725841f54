"""Runs in every state leave the site and come back: each file is the same, byte for byte."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from feedback.models import Delivery, FeedbackResponse
from feedback.requests import answers
from feedback.requests.answers import Words, respond
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role, Source
from runs.engine import batches, starting
from runs.engine.batches import BatchWish
from runs.engine.change import Change
from runs.engine.starting import Wish
from runs.models import Artifact, AuditEntry, Batch, CodePart, Project, Run, StepAttempt
from runs.worker import advance
from tests import factories as f
from tests.commands import faber
from tests.repositories import Repository, reviewed

pytestmark = [pytest.mark.django_db, pytest.mark.database]

Make = Callable[[Path], Run]


def review(_: Path) -> Run:
    return f.started(f.five_steps(), work_id="258", prompt="be brief", inputs={"b": "2", "a": "1"})


def completed(folder: Path) -> Run:
    return f.answered(review(folder), "approve", "fine")


def changing_code(folder: Path) -> Run:
    """Two rounds over the code of a repository."""
    repository = Repository(folder / "app")
    repository.write("app.py", "def add(a, b):\n    return b + a\n")
    repository.write("new.txt", "new\n")
    (repository.folder / "old.txt").unlink()
    run = reviewed(repository)
    repository.write("new.txt", "newer\n")
    return f.answered(run, "request_changes", "Once more.")


def queued(_: Path) -> Run:
    return f.start(f.five_steps())


def running(folder: Path) -> Run:
    run = queued(folder)
    engine.claim(run.pk, advance.worker_name())
    return run


def rejected(folder: Path) -> Run:
    return f.answered(review(folder), "reject")


def cancelled(folder: Path) -> Run:
    return engine.cancel(review(folder).pk, reason="not needed", actor=f.STARTER)


def failing(_: Path) -> Run:
    return f.started(f.workflow({"build": [f.step("one"), f.step("boom", "tests.steps:fail")]}))


def retried(folder: Path) -> Run:
    return f.answered(failing(folder), "retry")


def skipped(folder: Path) -> Run:
    return f.answered(failing(folder), "skip")


def failed(_: Path) -> Run:
    """The engine itself could not go on."""
    run = f.start(f.five_steps())
    StepAttempt.objects.filter(run=run).update(status=StepAttempt.Status.LOST)
    change = Change(run)
    change.fail("The workspace is gone.")
    change.write()
    return run


def looping(_: Path) -> Run:
    evaluate = {"steps": [f.step("test", "tests.steps:pass_third_time")], "max_retries": 3}
    return f.started(f.workflow({"build": [f.step("make")], "evaluate": evaluate}))


def loop_given_up(_: Path) -> Run:
    evaluate = {"steps": [f.step("test", "tests.steps:fail")], "max_retries": 1}
    return f.started(f.workflow({"build": [f.step("make")], "evaluate": evaluate}))


def at_a_gate(_: Path) -> Run:
    return f.started(f.five_steps(autonomy={"require_approval_for": ["build", "architect"]}))


def past_a_gate(folder: Path) -> Run:
    return f.answered(at_a_gate(folder), "approve")


def approved_by_policy(_: Path) -> Run:
    level = {"level": "autonomous", "require_approval_for": ["build"]}
    return f.started(
        f.workflow({"build": [f.step("one")]}, autonomy={**level, "allow_destructive_auto": True})
    )


def warned(_: Path) -> Run:
    careful = {"on_warning": "stop"}
    return f.started(
        f.workflow({"build": [f.step("one", "tests.steps:warn", result_handling=careful)]})
    )


def warned_twice(folder: Path) -> Run:
    return f.answered(warned(folder), "continue")


def asking(_: Path) -> Run:
    return f.started(f.workflow({"frame": [f.step("ask", "tests.steps:ask")]}))


def half_a_quorum(_: Path) -> Run:
    gate = f.step("one", confirm=True, quorum=2, reviewers=["group:reviewer"])
    run = f.started(f.workflow({"build": [gate]}))
    f.answer(run, "confirm")
    return run


def a_quorum_that_came_to_nothing(folder: Path) -> Run:
    return engine.cancel(half_a_quorum(folder).pk, reason="later", actor=f.STARTER)


def checking_in(_: Path) -> Run:
    return f.started(f.five_steps(autonomy={"check_in_frequency": "per-step"}))


def hooked(folder: Path) -> Run:
    (folder / "notes.md").write_text("Mind the gap.\n")
    hooks = {
        "pre_build": [
            {"type": "document", "name": "notes", "description": "notes", "path": "notes.md"},
            {"type": "script", "name": "prepare", "description": "no", "path": "missing.sh"},
        ]
    }
    return f.started(f.workflow({"build": [f.step("one")]}, hooks=hooks), folder)


def before_a_phase_with_hooks(_: Path) -> Run:
    hooks = {"pre_build": [{"type": "document", "name": "notes", "path": "notes.md"}]}
    build: f.Json = {"steps": [f.step("one")], "require_approval": True}
    return f.started(f.workflow({"build": build}, hooks=hooks))


def revised(folder: Path) -> Run:
    """Two revisions of a file, and remarks on lines between them."""
    request = f.reviewed_list(folder)
    item = {"path": "list.md", "line": 3, "body": "ripe ones", "revision": 1}
    respond(request.request_id, "request_changes", actor=f.person(), words=Words(items=[item]))
    return f.work(request.run)


def remote(_: Path) -> Run:
    return f.started(f.workflow({"build": [{"id": "away", "remote": True}]}))


def of_a_batch(folder: Path) -> Run:
    (folder / "small.json").write_text(json.dumps(f.five_steps()))
    wish = Wish(workflow=str(folder / "small.json"), workspace=folder, project="Acme/App")
    wanted = BatchWish(wish=wish, work_ids=("1", "2"), concurrency=1)
    batch = batches.start(wanted, f.STARTER)
    return batch.runs.order_by("pk").last() or Run()


def rerun(folder: Path) -> Run:
    (folder / "small.json").write_text(json.dumps(f.five_steps()))
    wish = Wish(workflow=str(folder / "small.json"), workspace=folder, project="Acme/App")
    original, _ = starting.start(wish, f.STARTER)
    return starting.rerun(f.work(original), f.STARTER)[0]


def dry(_: Path) -> Run:
    return f.started(f.five_steps(autonomy={"level": "dry-run"}))


def on_an_issue(folder: Path) -> Run:
    run = review(folder)
    Delivery.objects.create(
        kind=Delivery.Kind.REQUEST,
        mark=f.pending(run).request_id,
        request=f.pending(run),
        run=run,
        repository="Acme/App",
        issue=258,
        comment_id=77,
        comment_url="https://github.com/Acme/App/issues/258#issuecomment-77",
        is_due=False,
    )
    return run


def held(folder: Path) -> Run:
    """Answered in the browser a moment ago: the undo time is not over."""
    run = review(folder)
    f.answer(run, "approve")
    FeedbackResponse.objects.update(state="held", held_until=timezone.now())
    return run


def retracted(folder: Path) -> Run:
    run = held(folder)
    answers.retract(run.requests.get().request_id, f.person())
    return run


def superseded(folder: Path) -> Run:
    run = review(folder)
    run.requests.update(status="superseded", closed_at=timezone.now())
    return run


STATES: list[Make] = [
    review,
    completed,
    queued,
    running,
    rejected,
    cancelled,
    failing,
    retried,
    skipped,
    failed,
    looping,
    loop_given_up,
    at_a_gate,
    past_a_gate,
    approved_by_policy,
    warned,
    warned_twice,
    asking,
    half_a_quorum,
    a_quorum_that_came_to_nothing,
    checking_in,
    hooked,
    before_a_phase_with_hooks,
    revised,
    remote,
    of_a_batch,
    rerun,
    dry,
    on_an_issue,
    superseded,
    changing_code,
]


def empty_site() -> None:
    Run.objects.all().delete()
    AuditEntry.objects.all().delete()
    Batch.objects.all().delete()
    Project.objects.all().delete()


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def exported(run: Run, folder: Path) -> dict[str, bytes]:
    answer = faber("export", run.run_id, str(folder))
    assert (answer.code, answer.err) == (0, "")
    return files_of(folder)


def resumed(run: Run) -> Run:
    return engine.resume_stopped(run.pk, f.STARTER)


def came_back(run: Run, folder: Path) -> Run:
    empty_site()
    answer = faber("import", str(folder))
    assert (answer.code, answer.err) == (0, "")
    return Run.objects.get(run_id=run.run_id)


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_a_run_that_comes_back_to_the_gate_of_a_phase_has_its_hooks_still_before_it(
    work_tree: Path, tmp_path: Path
) -> None:
    run = f.fresh(before_a_phase_with_hooks(work_tree))
    exported(run, tmp_path / "first")

    there = f.answered(resumed(came_back(run, tmp_path / "first")), "approve")

    told = f.told(there)
    assert told.index("phase_start") < told.index("hook_execute") < told.index("step_start")


@pytest.mark.parametrize("make", STATES)
def test_every_file_is_the_same_when_a_run_comes_back(
    make: Make, work_tree: Path, tmp_path: Path
) -> None:
    run = f.fresh(make(work_tree))
    conforms = faber("verify", run.run_id).code
    first = exported(run, tmp_path / "first")

    there = came_back(run, tmp_path / "first")

    assert exported(there, tmp_path / "second") == first
    assert faber("audit", "verify").code == 0
    assert faber("verify", there.run_id).code == conforms


def test_an_answer_that_was_taken_back_comes_along(
    work_tree: Path, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 0
    run = f.fresh(retracted(work_tree))
    first = exported(run, tmp_path / "first")

    there = came_back(run, tmp_path / "first")

    assert exported(there, tmp_path / "second") == first


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    words=st.lists(
        st.sampled_from(["approve", "request_changes", "reject", "retry", "skip", "abort"]),
        max_size=6,
    ),
    comment=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
)
@pytest.mark.django_db(transaction=False)
def test_whatever_people_answer_the_run_comes_back_the_same(
    words: list[str], comment: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round-trip")
    document = f.five_steps(autonomy={"require_approval_for": ["release"]})
    document["phases"]["evaluate"]["steps"] = [f.step("four", "tests.steps:fail_first")]  # type: ignore[index]
    run = f.started(document)
    for word in words:
        request = run.requests.filter(status="pending").first()
        if request and word in [option.value for option in request.choices]:
            run = f.answered(run, word, comment if comment.strip() else "so")
    first = exported(run, folder / "first")

    there = came_back(run, folder / "first")

    assert exported(there, folder / "second") == first


def test_what_was_kept_of_files_comes_along(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(revised(work_tree))
    before = [(a.path, a.revision, bytes(a.content)) for a in Artifact.objects.order_by("pk")]
    exported(run, tmp_path / "out")

    there = came_back(run, tmp_path / "out")

    kept = [(a.path, a.revision, bytes(a.content)) for a in Artifact.objects.order_by("pk")]
    assert kept == before
    shown = f.pending(there).artifacts.get()
    assert (shown.path, shown.revision) == ("list.md", 2)


def test_the_code_changes_of_its_requests_come_along(
    work_tree: Path, tmp_path: Path, client: Client
) -> None:
    run = f.fresh(changing_code(work_tree))
    first, second = run.requests.order_by("pk")
    before = {since: faber("diff", run.run_id, "--since", since).out for since in ("base", "round")}
    exported(run, tmp_path / "out")
    shutil.rmtree(work_tree)
    CodePart.objects.all().delete()

    there = came_back(run, tmp_path / "out")

    assert {since: faber("diff", there.run_id, "--since", since).out for since in before} == before
    assert "+newer" in before["round"]
    assert "+new\n" in faber("diff", there.run_id, "--request", first.request_id).out
    client.force_login(users.create("rita", role=Role.REVIEWER))
    page = client.get(f"/requests/{second.request_id}/?tab=changes&since=base").content.decode()
    assert "3 files" in page
    assert "b + a" in re.sub(r"<[^>]+>", "", page)
    of_run = client.get(f"/runs/{there.run_id}/").content.decode()
    assert f'href="/requests/{second.request_id}/?tab=changes"' in of_run


def test_a_run_comes_back_without_its_code_too(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(changing_code(work_tree))
    exported(run, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "faber" / "code")

    there = came_back(run, tmp_path / "out")

    assert not there.snapshots.exists()
    assert faber("diff", there.run_id).code == 6
    assert faber("audit", "verify").code == 0


def test_a_run_comes_back_without_its_files_too(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(revised(work_tree))
    exported(run, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "faber" / "artifacts")

    there = came_back(run, tmp_path / "out")

    assert not Artifact.objects.exists()
    assert f.answered(resumed(there), "approve").status == "awaiting_feedback"


def test_a_run_comes_back_as_the_seeds_layout_alone(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(revised(work_tree))
    first = exported(run, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "faber")

    there = came_back(run, tmp_path / "out")

    again = exported(there, tmp_path / "again")
    assert {name: again[name] for name in first if not name.startswith("faber/")} == {
        name: content for name, content in first.items() if not name.startswith("faber/")
    }


def test_a_step_that_is_done_again_counts_on(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(review(work_tree))
    exported(run, tmp_path / "out")

    there = resumed(came_back(run, tmp_path / "out"))
    there = f.answered(there, "request_changes", "two layers")

    numbers = there.attempts.filter(step="two").values_list("number", flat=True)
    assert list(numbers) == [1, 2]


def test_who_started_a_run_is_still_known(
    work_tree: Path, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    run = f.fresh(review(work_tree))
    exported(run, tmp_path / "out")

    there = resumed(came_back(run, tmp_path / "out"))

    starter = replace(f.STARTER, source=Source.API)
    with pytest.raises(Exception, match="started"):
        f.answer(there, "approve", actor=starter)


def test_a_step_under_way_is_not_executed_in_two_places(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(running(work_tree))
    exported(run, tmp_path / "out")

    there = came_back(run, tmp_path / "out")

    assert [attempt.status for attempt in there.attempts.all()] == ["lost"]
    assert faber("resume", there.run_id).code == 3


def test_a_record_of_an_earlier_moment_is_left_aside(work_tree: Path, tmp_path: Path) -> None:
    run = f.fresh(revised(work_tree))
    exported(run, tmp_path / "out")
    state = json.loads((tmp_path / "out" / "state.json").read_text())
    state["artifacts"] = {"spec_path": "/specs/other.md"}
    (tmp_path / "out" / "state.json").write_text(json.dumps(state))
    empty_site()

    answer = faber("import", str(tmp_path / "out"))

    assert answer.code == 0
    assert "faber/record.json: is older than the rest" in answer.err
    assert Run.objects.get().artifacts == {"spec_path": "/specs/other.md"}


def test_names_and_rounds_leave_with_a_run_and_come_back(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path, approval_type="review", max_rounds=2)
    run = f.answered(run, "request_changes", "shorter")
    asked = run.requests.order_by("pk").last()
    assert asked
    columns = {"agent": "claude", "cost_usd": 0.25, "own_title": "Which one?"}
    run.requests.filter(pk=asked.pk).update(**columns)
    faber("export", run.run_id, str(tmp_path / "out"))
    run.delete()

    faber("import", str(tmp_path / "out"))

    back = Run.objects.get(run_id=run.run_id)
    assert back.title == "Spec, attempt 1"
    last = back.requests.order_by("pk").last()
    assert last
    assert (last.round, last.max_rounds) == (2, 2)
    assert {name: getattr(last, name) for name in columns} == columns


def test_a_record_of_a_site_that_kept_no_titles_is_still_taken_in(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path)
    faber("export", run.run_id, str(tmp_path / "out"))
    run.delete()
    file = tmp_path / "out" / "faber" / "record.json"
    record = json.loads(file.read_text())
    del record["run"]["own_title"], record["snapshots"]
    for name in ("own_title", "round", "max_rounds", "agent", "cost_usd", "snapshot"):
        del record["requests"][0][name]
    file.write_text(json.dumps(record))

    assert faber("import", str(tmp_path / "out")).code == 0
    assert Run.objects.get(run_id=run.run_id).title == "small"
