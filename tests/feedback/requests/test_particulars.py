"""What a request comes with besides its files stands on every channel."""

import json
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.batches import aggregate
from feedback.channels.markdown import comments
from feedback.channels.trackers import replies
from feedback.models import FeedbackRequest
from feedback.terminal import card
from runs.accounts import users
from runs.domain.values.actors import Role, Scope
from runs.engine.files.artifacts import LARGEST
from runs.models import Batch, Run
from tests import batches as b
from tests import factories as f
from tests.api_client import body_of, program
from tests.commands import faber

pytestmark = pytest.mark.django_db

LONG = "It went like this. " + "word " * 2000 + "THE END."
ERRORS = [f"test_{number} fails" for number in range(40)]
FAILED: f.Json = {
    "status": "failure",
    "message": "40 tests fail.",
    "errors": ERRORS,
    "error_analysis": "The clock of the fixture stands still.",
    "suggested_fixes": ["Advance the clock.", "Use the real clock."],
}
ASKING: f.Json = {
    "status": "pending_input",
    "message": "m",
    "pending_input": {
        "reason": "Some facts are missing.",
        "questions": [
            {"question": "Which database?", "options": ["PostgreSQL", "SQLite"]},
            "How many rows?",
        ],
    },
}
REVIEWED = {"requires_approval": True, "approval_type": "review"}


def says(response: Mapping[str, object], **fields: object) -> f.Json:
    return f.step("make", "tests.steps:say", arguments={"response": response}, **fields)


def asked(step: f.Json, workspace: Path | None = None, **fields: object) -> FeedbackRequest:
    return f.pending(f.started(f.workflow({"build": [step]}), workspace, **fields))


def viewer() -> User:
    return User.objects.filter(username="vera").first() or users.create("vera", role=Role.VIEWER)


def page(request: FeedbackRequest) -> str:
    """As somebody sees it who may not answer: there is no form that would ask the questions."""
    client = Client()
    client.force_login(viewer())
    return unescape(client.get(f"/requests/{request.request_id}/").content.decode())


def request_json(request: FeedbackRequest) -> str:
    document = body_of(program(Scope.AGENT).get(f"/requests/{request.request_id}"))
    return json.dumps(document["context"], ensure_ascii=False)


def batch_json(request: FeedbackRequest) -> str:
    report = faber("batch", "show", in_batch(request).batch_id, "--json").document
    return json.dumps(report["runs"][0]["feedback_request"], ensure_ascii=False)


def in_batch(request: FeedbackRequest) -> Batch:
    batch = b.new_batch()
    Run.objects.filter(pk=request.run_id).update(batch=batch)
    return batch


CHANNELS: Mapping[str, Callable[[FeedbackRequest], str]] = {
    "page": page,
    "prompt": card.inline,
    "show": lambda request: faber("show", request.request_id).out,
    "not asked here": card.where_to_answer,
    "comment": lambda request: comments.request_comment(replies.shown(request)),
    "API": request_json,
    "batch": lambda request: aggregate.prompt(in_batch(request)),
    "batch API": batch_json,
}
every_channel = pytest.mark.parametrize("channel", CHANNELS)


@every_channel
def test_a_clarifications_questions_stand_there(channel: str) -> None:
    said = CHANNELS[channel](asked(says(ASKING)))

    assert "Which database?" in said
    assert "PostgreSQL" in said
    assert "How many rows?" in said


@every_channel
def test_a_failures_errors_analysis_and_fixes_stand_there(channel: str) -> None:
    said = CHANNELS[channel](asked(says(FAILED)))

    assert "test_0 fails" in said
    assert "The clock of the fixture stands still." in said
    assert "Advance the clock." in said
    assert "Use the real clock." in said


@every_channel
def test_no_error_is_left_out_without_saying_so(channel: str) -> None:
    said = CHANNELS[channel](asked(says(FAILED)))

    assert "test_39 fails" in said or "and 35 more" in said


@every_channel
@pytest.mark.parametrize("where", ["named", "defined"])
def test_a_missing_file_is_named_there(channel: str, where: str, tmp_path: Path) -> None:
    named = {"details": {"spec_path": "specs/gone.md"}} if where == "named" else {}
    defined = {"artifact": "specs/gone.md"} if where == "defined" else {}
    response = {"status": "success", "message": "written", **named}

    said = CHANNELS[channel](asked(says(response, **REVIEWED, **defined), tmp_path))

    assert "specs/gone.md is missing from the workspace." in said


@pytest.mark.parametrize(
    ("path", "problem", "message"),
    [
        ("gone.md", "missing", "gone.md is missing from the workspace."),
        ("readme/gone.md", "missing", "readme/gone.md is missing from the workspace."),
        ("../secret", "outside", "../secret is outside the workspace."),
        ("link", "outside", "link is outside the workspace."),
        ("huge.bin", "too_large", "huge.bin is too large: more than 5 MB."),
        ("folder", "not_a_file", "folder is not a regular file."),
        ("loop", "unreadable", "loop can't be looked up."),
    ],
)
def test_why_a_file_is_not_shown_is_told_to_programs(
    path: str, problem: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "readme").write_text("hello")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "huge.bin").write_bytes(b"x" * (LARGEST + 1))
    response = {"status": "success", "message": "m", "details": {"artifact_path": path}}

    request = asked(says(response, **REVIEWED), tmp_path)

    assert request.context["artifact_problems"] == [
        {"path": path, "problem": problem, "message": message}
    ]
    assert not request.artifacts.exists()


def test_what_can_be_shown_is_shown_beside_what_cannot(tmp_path: Path) -> None:
    (tmp_path / "spec.md").write_text("# Spec\n")
    response = {"status": "success", "message": "m", "details": {"spec_path": "spec.md"}}

    request = asked(says(response, artifact="plan.md", **REVIEWED), tmp_path)

    assert request.artifacts.get().path == "spec.md"
    assert request.background.unshown == ("plan.md is missing from the workspace.",)
    assert "**Artifact**: spec.md" in card.inline(request)


def test_a_step_cannot_say_itself_which_files_are_missing(tmp_path: Path) -> None:
    lie = {"artifact_problems": [{"path": "x", "problem": "missing", "message": "x is fine."}]}

    request = asked(says({"status": "success", "message": "m", "details": lie}, **REVIEWED))

    assert "artifact_problems" not in request.context


@pytest.mark.database
def test_a_missing_file_does_not_fail_its_step_and_is_told_at_the_next_gate(
    tmp_path: Path,
) -> None:
    release = {"require_approval": True, "steps": [f.step("merge")]}
    document = f.workflow({"build": [f.step("make", artifact="gone.md")], "release": release})

    request = f.pending(f.started(document, tmp_path))

    assert request.gate == "phase"
    assert "gone.md is missing" in page(request)


@pytest.mark.database
def test_a_file_that_came_after_all_is_not_missing_at_the_next_gate(tmp_path: Path) -> None:
    release = {"require_approval": True, "steps": [f.step("merge")]}
    early = f.step("early", artifact="specs/spec.md")
    late = f.step("late", "tests.steps:write_spec", artifact="specs/spec.md")
    document = f.workflow({"build": [early, late], "release": release})

    request = f.pending(f.started(document, tmp_path))

    assert request.artifacts.get().path == "specs/spec.md"
    assert "artifact_problems" not in request.context


@pytest.mark.database
def test_a_step_that_made_its_file_the_second_time_lacks_nothing(tmp_path: Path) -> None:
    script = '[ "$FABER_ATTEMPT" = 1 ] || echo hello > plan.md'
    write = {"id": "write", "run": ["sh", "-c", script], "artifact": "plan.md", **REVIEWED}
    release = {"require_approval": True, "steps": [f.step("merge")]}
    run = f.started(f.workflow({"build": [write], "release": release}), tmp_path)
    assert "plan.md is missing" in card.inline(f.pending(run))

    run = f.answered(run, "request_changes", "Write it.")
    again = f.pending(run)
    gate = f.pending(f.answered(run, "approve"))

    assert (again.background.unshown, gate.background.unshown) == ((), ())
    assert gate.gate == "phase"


def test_a_file_that_an_executor_outside_named_and_did_not_send_is_missing() -> None:
    away = {"id": "away", "remote": True, "artifact": "plan.md", **REVIEWED}
    run = f.start(f.workflow({"build": [away]}))
    agent = program(Scope.AGENT)
    lease = body_of(agent.post(f"/runs/{run.run_id}/next"))["lease"]
    details = {"spec_path": "/specs/spec.md"}
    response = {"status": "success", "message": "done", "details": details}
    sent = [{"path": "specs/spec.md", "content": "# Spec"}]

    agent.post(f"/runs/{run.run_id}/finish", {"lease": lease, "response": response, "files": sent})

    request = f.pending(run)
    assert [artifact.path for artifact in request.artifacts.all()] == ["specs/spec.md"]
    assert request.background.unshown == ("plan.md was named but not sent.",)


@every_channel
def test_a_long_message_stands_there_whole(channel: str) -> None:
    said = CHANNELS[channel](asked(says({"status": "success", "message": LONG}, **REVIEWED)))

    if channel in ("not asked here", "batch"):  # these lead to the others
        assert len(said) < 2_000
    else:
        assert LONG in said


@pytest.mark.parametrize("status", ["success", "failure"])
def test_the_steps_behind_know_a_long_message_whole(status: str) -> None:
    keeps = f.step("keep", "tests.steps:keep_briefing")
    document = f.workflow({"build": [says({"status": status, "message": LONG}), keeps]})
    run = f.started(document)
    run = f.answered(run, "skip") if status == "failure" else run

    kept = run.attempts.get(step="keep").response or {}
    assert LONG in json.dumps(kept["details"]["briefing"]["context"])


@pytest.mark.parametrize("response", [FAILED, {**ASKING, "pending_input": {"questions": ["?"]}}])
def test_a_question_with_a_long_message_begins_with_it_and_shows_the_rest_beside_it(
    response: f.Json,
) -> None:
    request = asked(says({**response, "message": LONG}))

    assert len(request.prompt) < 600
    assert request.background.summary == LONG


def test_a_long_message_is_folded_on_the_page_and_in_the_comment() -> None:
    request = asked(says({"status": "success", "message": LONG}, **REVIEWED))

    assert '<details class="whole-text">' in page(request)
    assert f"<summary>Summary</summary>\n\n{LONG}" in CHANNELS["comment"](request)


def test_the_page_asks_whoever_may_answer_once(client: Client) -> None:
    client.force_login(users.create("rita", role=Role.REVIEWER))
    request = asked(says(ASKING))

    body = client.get(f"/requests/{request.request_id}/").content.decode()

    assert body.count("How many rows?") == 1
    assert "questions-title" not in body


def test_the_questions_stay_on_the_page_when_they_are_answered() -> None:
    request = asked(says(ASKING))
    f.answer(request.run, "PostgreSQL, a million")

    assert "How many rows?" in page(FeedbackRequest.objects.get(pk=request.pk))
