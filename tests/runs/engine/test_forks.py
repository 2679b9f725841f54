"""A new run from a step of another: what is taken over, and what is not."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.accounts import users
from runs.domain.values.actors import Actor, Role, Scope
from runs.domain.values.errors import Invalid, NotAllowed, Refused
from runs.engine import conformance, starting, turns
from runs.engine.starting import Wish
from runs.models import Project, Run
from runs.record import run_json, state_json
from tests import factories as f
from tests.api_client import account, body_of, program
from tests.commands import faber
from tests.repositories import Repository

pytestmark = [pytest.mark.django_db, pytest.mark.database]

COMMIT = "git add -A && git -c user.name=T -c user.email=t@example.org commit -qm"
PLAN = {
    "id": "forked",
    "worktree": True,
    "phases": {
        "architect": {
            "steps": [
                {
                    "id": "spec",
                    "run": ["sh", "-c", "echo the plan > spec.md"],
                    "artifact": "spec.md",
                    "requires_approval": True,
                    "approval_type": "review",
                }
            ]
        },
        "build": {
            "steps": [
                {"id": "code", "run": ["sh", "-c", f"echo code >> app.py && {COMMIT} Code"]},
                {"id": "docs", "run": ["sh", "-c", f"echo docs > docs.md && {COMMIT} Docs"]},
            ]
        },
        "release": {
            "steps": [{"id": "ship", "run": ["sh", "-c", "ls > shipped.txt"], "confirm": True}]
        },
    },
}


@pytest.fixture
def repository(tmp_path: Path, settings: Settings) -> Repository:
    settings.FABER_STEP_ISOLATION = "off"  # what these steps may see is not the matter here
    made = Repository(tmp_path / "app")
    save(made, PLAN)
    made.commit("Workflow")
    return made


def save(repository: Repository, plan: dict[str, Any]) -> None:
    repository.write(".fractary/faber/workflows/forked.yaml", yaml.safe_dump(plan))


def edited(repository: Repository, place: tuple[str, int], **changes: object) -> None:
    plan: dict[str, Any] = yaml.safe_load(yaml.safe_dump(PLAN))
    phase, index = place
    plan["phases"][phase]["steps"][index].update(changes)
    save(repository, plan)


def start(repository: Repository, actor: Actor = f.STARTER) -> Run:
    wish = Wish(workflow="forked", workspace=repository.folder, project="Acme/App", work_id="7")
    return f.work(starting.start(wish, actor)[0])


def finished(repository: Repository, actor: Actor = f.STARTER) -> Run:
    """A run to its end: the plan approved, the shipping confirmed."""
    run = f.answered(start(repository, actor), "approve")
    return f.answered(run, "confirm")


def fork(run: Run, step: str, actor: Actor = f.STARTER, **more: Any) -> Run:
    return f.work(starting.rerun(run, actor, from_step=step, **more)[0])


def test_a_fork_begins_at_its_step_with_all_before_it_taken_over(repository: Repository) -> None:
    original = finished(repository)
    edited(repository, ("build", 1), run=["sh", "-c", f"echo better > docs.md && {COMMIT} Docs"])

    again = fork(original, "build:docs")

    assert again.status == "awaiting_feedback"  # the gate behind the point is asked anew
    folder = again.folder
    assert (folder / "app.py").read_text().endswith("code\n")
    assert (folder / "docs.md").read_text() == "better\n"
    assert (folder / "spec.md").read_text() == "the plan\n"
    own = again.attempts.filter(taken_over_from="")
    assert [attempt.key for attempt in own] == ["build:docs"]
    taken = again.attempts.exclude(taken_over_from="")
    assert {attempt.taken_over_from for attempt in taken} == {original.run_id}
    assert again.base_commit == original.base_commit  # reviewers see the whole change
    assert f.answered(again, "confirm").status == "completed"
    assert (original.home / "docs.md").exists() is False


def test_a_fork_does_not_see_what_the_original_did_later(repository: Repository) -> None:
    original = finished(repository)

    again = fork(original, "build:code")

    assert (again.folder / "app.py").read_text().count("code\n") == 1
    assert (again.folder / "spec.md").read_text() == "the plan\n"  # kept, not committed


def test_what_was_taken_over_is_marked_wherever_the_run_is_shown(
    repository: Repository, client: Client, django_user_model: Any
) -> None:
    original = finished(repository)
    again = fork(original, "build:docs")

    told = again.events.order_by("number").values_list("type", "step", "document")
    marked = [
        (kind, step)
        for kind, step, document in told
        if document.get("metadata", {}).get("taken_over_from") == original.run_id
    ]
    assert marked == [
        ("step_start", "spec"),
        ("step_complete", "spec"),
        ("step_start", "code"),
        ("step_complete", "code"),
        ("artifact_create", "spec"),
    ]
    started = again.events.get(type="workflow_start").document["metadata"]
    assert started["taken_over"]["steps"] == ["architect:spec", "build:code"]
    assert started["taken_over"]["gates"] == ["architect:spec"]
    state: Any = state_json.state_of(again)
    steps = state["phases"]["build"]["steps"]
    assert [step.get("taken_over_from") for step in steps] == [original.run_id, None]
    assert [each["taken_over_from"] for each in state["feedback_history"]] == [original.run_id]
    shape = run_json.run_shape(again)
    assert (shape["rerun_of"], shape["rerun_from"]) == (original.run_id, "build:docs")
    shown = faber("status", again.run_id).out
    assert f"everything before build:docs from {original.run_id}" in shown
    client.force_login(django_user_model.objects.create_superuser("olga"))
    assert "taken over from" in client.get(f"/runs/{again.run_id}/").content.decode()


def test_a_fork_conforms_to_its_plan_and_its_record_is_whole(repository: Repository) -> None:
    original = finished(repository)
    again = f.answered(fork(original, "build:docs"), "confirm")

    verdict = conformance.verdict_of(again)

    assert verdict.conforms
    assert verdict.taken_over == ("architect:spec", "build:code")
    assert "2 of them taken over" in faber("verify", again.run_id).out
    assert faber("audit", "verify").code == 0
    assert again.cost_usd is None


def test_a_taken_over_step_without_its_execution_is_fabricated(repository: Repository) -> None:
    again = fork(finished(repository), "build:docs")
    again.attempts.filter(step="code").delete()
    assert conformance.verdict_of(again).fabricated == ("build:code",)


# Gates


def rita(name: str = "Rita") -> Actor:
    """A reviewer who may rerun what she started."""
    return f.person(name, groups=frozenset({Role.REVIEWER.value}))


def test_a_gate_approved_for_the_very_commit_counts(repository: Repository) -> None:
    original = finished(repository, rita())
    again = fork(original, "build:code", rita())
    assert "gates_left_out" not in again.events.get(type="workflow_start").document["metadata"]


def test_without_a_worktree_a_fork_past_a_gate_is_for_operators(repository: Repository) -> None:
    save(repository, {**PLAN, "worktree": False})
    original = finished(repository, rita())

    with pytest.raises(NotAllowed, match="skips the gates architect:spec"):
        fork(original, "build:code", rita())
    assert Run.objects.count() == 1

    again = fork(original, "build:code")
    told = again.events.get(type="workflow_start").document["metadata"]
    assert told["gates_left_out"] == ["architect:spec"]


def test_a_gate_that_was_not_approved_does_not_count(repository: Repository) -> None:
    original = f.answered(start(repository, rita()), "approve")
    original.requests.filter(step="spec").update(status="cancelled")
    with pytest.raises(NotAllowed, match="architect:spec"):
        fork(original, "build:code", rita())


def test_the_decisions_of_an_imported_run_open_no_gate(repository: Repository) -> None:
    original = finished(repository)
    Run.objects.update(imported_at=original.created_at)
    assert fork(f.fresh(original), "build:code").events.get(type="workflow_start").document[
        "metadata"
    ]["gates_left_out"] == ["architect:spec"]


# What cannot be taken over


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (("architect", 0), {"run": ["sh", "-c", "echo another plan > spec.md"]}),
        (("architect", 0), {"requires_approval": False}),
        (("architect", 0), {"reviewers": ["otto"]}),
    ],
)
def test_a_workflow_that_changed_before_the_step_is_refused(
    repository: Repository, place: tuple[str, int], changes: dict[str, object]
) -> None:
    original = finished(repository)
    edited(repository, place, **changes)
    if "reviewers" in changes:
        users.create("otto", role=Role.REVIEWER)
    with pytest.raises(Refused, match="architect:spec is not what that run executed"):
        fork(original, "build:code")
    assert Run.objects.count() == 1


def test_an_unknown_step_is_named_with_the_nearest(repository: Repository) -> None:
    original = finished(repository)
    with pytest.raises(Invalid, match="did you mean build:docs"):
        fork(original, "build:doc")
    assert faber("rerun", original.run_id, "--from", "build:doc").code == 2


def test_what_the_run_has_not_reached_cannot_be_begun_at(repository: Repository) -> None:
    original = start(repository)
    with pytest.raises(Refused, match="has not reached build:code"):
        fork(original, "build:code")


def test_files_that_nobody_committed_or_named_are_not_lost_silently(
    repository: Repository,
) -> None:
    edited(repository, ("build", 0), run=["sh", "-c", "echo code > new.py"])
    original = f.answered(start(repository), "approve")
    edited(repository, ("build", 0), run=["sh", "-c", "echo code > new.py"])
    with pytest.raises(Refused, match=r"After build:code these files were not committed.*new\.py"):
        fork(original, "build:docs")


def test_a_commit_that_is_gone_is_told(repository: Repository) -> None:
    original = finished(repository)
    made = original.attempts.get(step="code")
    made.left_at = {**(made.left_at or {}), "commit": "0" * 40}
    made.save()
    with pytest.raises(Refused, match="commit 000000000000 is not known"):
        fork(original, "build:docs")


def test_a_fork_that_waits_for_its_turn_begins_at_its_step(repository: Repository) -> None:
    original = finished(repository)
    Project.objects.update(exclusive=True)
    start(repository)

    waiting = starting.rerun(f.fresh(original), f.STARTER, from_step="build:docs")[0]
    assert waiting.status == "pending"
    Project.objects.update(exclusive=False)
    turns.give(waiting.project_id)
    done = f.work(f.fresh(waiting))
    assert [a.key for a in done.attempts.filter(taken_over_from="")] == ["build:docs"]


def test_a_fork_of_a_fork_names_where_each_step_was_executed(repository: Repository) -> None:
    original = finished(repository)
    second = f.answered(fork(original, "build:docs"), "confirm")
    third = fork(second, "release:ship")
    taken = {a.key: a.taken_over_from for a in third.attempts.exclude(taken_over_from="")}
    assert taken == {
        "architect:spec": original.run_id,
        "build:code": original.run_id,
        "build:docs": second.run_id,
    }
    assert conformance.verdict_of(third).conforms


# Where it can be asked for


def test_a_fork_is_made_by_command_call_and_page(repository: Repository, client: Client) -> None:
    original = finished(repository)
    operator = program(Scope.OPERATOR, account("olga", Role.OPERATOR))

    typed = faber("rerun", original.run_id, "--from", "release:ship", "--json")
    called = operator.post(f"/runs/{original.run_id}/rerun", {"from": "release:ship"})
    client.force_login(User.objects.get(username="olga"))
    offered = client.get(f"/runs/{original.run_id}/").content.decode()
    pressed = client.post(f"/runs/{original.run_id}/rerun/", {"from": "release:ship"})

    assert (typed.code, called.status_code, pressed.status_code) == (3, 201, 303)
    assert '<option value="release:ship">' in offered
    assert body_of(called)["rerun_from"] == "release:ship"
    forked = Run.objects.filter(rerun_of=original)
    assert set(forked.values_list("forked_at", "position")) == {("release:ship", 3)}
    assert operator.post(f"/runs/{original.run_id}/rerun", {"from": "x:y"}).status_code == 422
