"""Executors outside: they take steps, keep them, finish them, lose them, and ask."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from runs.domain.values.actors import Scope
from runs.models import Project, Run, StepAttempt
from tests import factories as f
from tests.api_client import Program, body_of, error_of, program
from tests.commands import faber
from tests.sample_secrets import TOKENS

pytestmark = pytest.mark.django_db

DONE = {"status": "success", "message": "done"}


def away(step_id: str, **fields: object) -> f.Json:
    return {"id": step_id, "remote": True, **fields}


@pytest.fixture
def laptop() -> Program:
    return program(Scope.AGENT, name="laptop")


@pytest.fixture
def other() -> Program:
    return program(Scope.AGENT, name="ci")


@pytest.fixture
def run() -> Run:
    return f.start(f.workflow({"build": [away("one"), away("two")]}), work_id="124")


def take(caller: Program, run: Run, **body: object) -> dict[str, Any]:
    return body_of(caller.post(f"/runs/{run.run_id}/next", body))


def finish(caller: Program, run: Run, lease: str, response: object = DONE, **more: object) -> Any:
    body = {"lease": lease, "response": response, **more}
    return caller.post(f"/runs/{run.run_id}/finish", body)


def expire(run: Run) -> None:
    """What the executor's death looks like from here: its lease runs out."""
    StepAttempt.objects.filter(run=run, status="running").update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_an_outside_step_waits_for_a_word_when_its_context_cannot_be_read(
    laptop: Program, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "spec.md").mkdir()
    Run.objects.update(workspace=str(tmp_path), artifacts={"spec_path": "spec.md"})

    waiting = take(laptop, run)

    assert waiting == {"action": "wait", "request_id": f.pending(run).request_id}
    f.answer(run, "continue")
    told = take(laptop, run)["briefing"]
    assert (told["action"], told["context"]["spec"]) == ("answer", None)


def test_a_run_is_executed_from_outside_step_by_step(laptop: Program, run: Run) -> None:
    first = take(laptop, run)
    second = body_of(finish(laptop, run, first["lease"]))
    last = body_of(finish(laptop, run, second["lease"]))

    assert [first["action"], first["step"], first["phase"]] == ["execute", "one", "build"]
    assert [second["action"], second["step"]] == ["execute", "two"]
    assert last == {"action": "done", "status": "completed"}
    assert f.fresh(run).status == "completed"
    assert take(laptop, run) == {"action": "done", "status": "completed"}


def test_the_briefing_is_that_of_the_contract(laptop: Program, run: Run) -> None:
    briefing = take(laptop, run)["briefing"]

    assert set(briefing) >= {
        *("run_id", "work_id", "phase", "step", "attempt", "action", "instruction"),
        *("arguments", "plan", "feedback", "failure_context", "context"),
    }
    assert (briefing["step"], briefing["action"], briefing["attempt"]) == ("one", "start", 1)
    assert briefing["instruction"].startswith(
        f"Execute step build:one of workflow run {run.run_id}"
    )


def test_while_one_has_the_step_others_wait(laptop: Program, other: Program, run: Run) -> None:
    take(laptop, run)

    assert take(other, run) == {"action": "wait", "request_id": None}


def test_a_lease_lasts_as_long_as_was_asked_for_or_the_step_may(laptop: Program) -> None:
    run = f.start(f.workflow({"build": [away("one", timeout=90), away("two")]}))

    first = take(laptop, run)
    by_default = f.fresh(run).attempts.get().lease_until
    second = body_of(finish(laptop, run, first["lease"]))
    expire(run)
    third = take(laptop, run, lease_seconds=5)

    def left(moment: Any) -> float:
        return float((moment - timezone.now()).total_seconds())

    assert left(by_default) == pytest.approx(90, abs=10)
    assert second["lease"] != third["lease"]
    assert left(run.attempts.get(status="running").lease_until) == pytest.approx(5, abs=4)


def test_a_heartbeat_renews_the_lease_for_as_long_as_it_was_taken(
    laptop: Program, run: Run
) -> None:
    lease = take(laptop, run, lease_seconds=60)["lease"]
    StepAttempt.objects.update(lease_until=timezone.now() + timedelta(seconds=2))

    kept = body_of(laptop.post(f"/runs/{run.run_id}/heartbeat", {"lease": lease}))

    assert (kept["action"], kept["lease"], kept["step"]) == ("execute", lease, "one")
    left = run.attempts.get().lease_until - timezone.now()  # type: ignore[operator]
    assert left > timedelta(seconds=50)


def test_who_loses_the_lease_changes_nothing_any_more(
    laptop: Program, other: Program, run: Run
) -> None:
    lost = take(laptop, run)["lease"]
    expire(run)

    taken = take(other, run)
    before = (f.told(run), f.fresh(run).updated_at)
    late = finish(laptop, run, lost, {"status": "failure", "message": "x", "errors": ["x"]})
    beat = laptop.post(f"/runs/{run.run_id}/heartbeat", {"lease": lost})

    assert (taken["step"], taken["briefing"]["attempt"]) == ("one", 2)
    assert [late.status_code, beat.status_code] == [409, 409]
    assert error_of(late)["code"] == "lease_lost"
    assert (f.told(run), f.fresh(run).updated_at) == before
    first, second = run.attempts.order_by("number")
    assert (first.status, second.status) == ("lost", "running")
    assert first.late_response is not None
    assert first.late_response["message"] == "x"
    assert body_of(finish(other, run, taken["lease"]))["step"] == "two"


def test_a_lease_that_ran_out_is_lost_even_before_somebody_takes_over(
    laptop: Program, run: Run
) -> None:
    lease = take(laptop, run)["lease"]
    expire(run)

    beat = laptop.post(f"/runs/{run.run_id}/heartbeat", {"lease": lease})
    late = finish(laptop, run, lease)

    assert [beat.status_code, late.status_code] == [409, 409]
    assert "step_complete" not in f.told(run)
    assert take(laptop, run)["briefing"]["attempt"] == 2


def test_what_an_executor_outside_hands_back_is_kept_without_secrets(
    laptop: Program, run: Run
) -> None:
    token = TOKENS["our own token"]
    said = {"status": "success", "message": f"with {token}", "details": {"used": [token]}}

    finish(laptop, run, take(laptop, run)["lease"], said)

    attempt = run.attempts.get(step="one")
    assert attempt.response == {
        "status": "success",
        "message": "with [redacted]",
        "details": {"used": ["[redacted]"]},
    }
    assert token not in str(list(run.events.values_list("document")))


def test_a_step_is_finished_once(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]
    finish(laptop, run, lease)
    before = f.told(run)

    again = finish(laptop, run, lease)

    assert (again.status_code, error_of(again)["code"]) == (409, "lease_lost")
    assert f.told(run) == before


def test_a_cancelled_run_takes_nothing_any_more(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]
    operator = program(Scope.OPERATOR, name="op")
    operator.post(f"/runs/{run.run_id}/cancel", {"reason": "no"})

    assert laptop.post(f"/runs/{run.run_id}/heartbeat", {"lease": lease}).status_code == 409
    assert finish(laptop, run, lease).status_code == 409
    assert take(laptop, run) == {"action": "done", "status": "cancelled"}


@pytest.mark.parametrize("lease", ["", "x", "a/b/c", "laptop/60/unknown"])
def test_an_unknown_lease_is_refused(laptop: Program, run: Run, lease: str) -> None:
    take(laptop, run)

    assert error_of(finish(laptop, run, lease))["code"] == "lease_lost"


def test_a_lease_is_good_for_its_own_run_only(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]
    second = f.start(f.workflow({"build": [away("one")]}))
    take(laptop, second)

    assert finish(laptop, second, lease).status_code == 409


def test_a_step_lost_too_often_asks_a_person(laptop: Program, run: Run) -> None:
    for _ in range(3):
        assert take(laptop, run)["action"] == "execute"
        expire(run)

    waits = take(laptop, run)

    assert waits == {"action": "wait", "request_id": f.pending(run).request_id}
    assert f.pending(run).type == "error_resolution"


def test_what_cannot_be_read_is_a_failure_that_a_person_sees(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]

    waits = body_of(finish(laptop, run, lease, {"status": "odd"}))

    assert waits == {"action": "wait", "request_id": f.pending(run).request_id}


def test_a_gate_stops_the_executor_until_it_is_answered(laptop: Program) -> None:
    run = f.start(
        f.workflow({"build": [away("one", requires_approval=True, approval_type="review")]})
    )
    lease = take(laptop, run)["lease"]
    spec = {"path": "specs/a.md", "content": "# Spec\n"}

    waits = body_of(finish(laptop, run, lease, artifacts=[spec]))
    shown = f.pending(run)
    f.answer(run, "request_changes", "Say more.")
    again = take(laptop, run)

    assert waits == {"action": "wait", "request_id": shown.request_id}
    assert [a.text for a in shown.artifacts.all()] == ["# Spec\n"]
    assert again["briefing"]["action"] == "revise"
    assert again["briefing"]["feedback"]["comment"] == "Say more."
    assert "Say more" in again["briefing"]["instruction"]


def test_a_step_of_our_own_after_a_remote_one_goes_to_our_worker(laptop: Program) -> None:
    run = f.start(f.workflow({"build": [away("one"), f.step("two"), away("three")]}))

    waits = body_of(finish(laptop, run, take(laptop, run)["lease"]))
    queued = run.attempts.order_by("-id")[0]
    f.work(run)

    assert waits == {"action": "wait", "request_id": None}
    assert (queued.status, queued.worker) == ("queued", "")
    assert take(laptop, run)["step"] == "three"


def test_arguments_that_nobody_knows_are_a_failure_of_the_step(laptop: Program) -> None:
    run = f.start(f.workflow({"build": [away("one", arguments={"x": "{nobody}"})]}))

    assert take(laptop, run)["request_id"] == f.pending(run).request_id


def test_placeholders_are_filled_before_the_step_is_handed_out(laptop: Program) -> None:
    step = away("one", arguments={"issue": "{work_id}"})
    run = f.start(f.workflow({"build": [step]}), work_id="124")

    assert take(laptop, run)["briefing"]["arguments"] == {"issue": "124"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "./a", "a//b"])
def test_a_file_keeps_inside_the_workspace(laptop: Program, run: Run, path: str) -> None:
    lease = take(laptop, run)["lease"]

    response = finish(laptop, run, lease, artifacts=[{"path": path, "content": "x"}])

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"] == "files"
    assert run.attempts.get().status == "running", "it can be tried again"


def test_only_a_file_that_was_sent_is_kept_and_none_of_our_disk(
    laptop: Program, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("ours")
    (tmp_path / "b.md").write_text("ours too")
    run = f.start(f.workflow({"build": [away("one", artifact="a.md")]}), tmp_path)
    response = {**DONE, "details": {"spec_path": "b.md"}}

    finish(
        laptop,
        run,
        take(laptop, run)["lease"],
        response,
        artifacts=[{"path": "a.md", "content": "theirs"}],
    )

    assert {a.path: a.text for a in run.revisions.all()} == {"a.md": "theirs"}


def test_a_file_that_is_no_text_is_sent_as_base64(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]
    files = [{"path": "a.png", "content": "AP8=", "encoding": "base64"}]

    finish(laptop, run, lease, files=files)

    assert bytes(run.revisions.get().content) == b"\x00\xff"


def test_what_is_not_base64_is_refused(laptop: Program, run: Run) -> None:
    lease = take(laptop, run)["lease"]
    files = [{"path": "a.png", "content": "not so", "encoding": "base64"}]

    response = finish(laptop, run, lease, files=files)

    assert response.status_code == 422
    assert run.attempts.get().status == "running"


def test_a_lease_lasts_no_longer_than_the_step_may(laptop: Program) -> None:
    run = f.start(f.workflow({"build": [away("one", timeout=60)]}))

    response = laptop.post(f"/runs/{run.run_id}/next", {"lease_seconds": 86400})

    assert "/60/" in body_of(response)["lease"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.database
def test_of_several_executors_one_gets_the_step() -> None:
    run = f.start(f.workflow({"build": [away("one")]}))
    caller = program(Scope.AGENT, name="ci")
    together, got = threading.Barrier(4), []

    def ask() -> None:
        try:
            together.wait()
            got.append(take(caller, run)["action"])
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(got) == ["execute", "wait", "wait", "wait"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.database
def test_a_late_finish_and_a_takeover_at_once_leave_one_of_them() -> None:
    run = f.start(f.workflow({"build": [away("one"), away("two")]}))
    laptop, ci = program(Scope.AGENT, name="laptop"), program(Scope.AGENT, name="ci")
    lease = take(laptop, run, lease_seconds=3600)["lease"]
    expire(run)
    together, codes, got = threading.Barrier(2), [], []

    def late() -> None:
        try:
            together.wait()
            codes.append(finish(laptop, run, lease).status_code)
        finally:
            connection.close()

    def takes_over() -> None:
        try:
            together.wait()
            got.append(take(ci, run))
        finally:
            connection.close()

    threads = [threading.Thread(target=late), threading.Thread(target=takes_over)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert codes == [409]
    assert (got[0]["action"], got[0]["step"]) == ("execute", "one")
    assert run.attempts.filter(status="lost").count() == 1


# Asking


def ask(caller: Program, run: Run, **body: object) -> Any:
    asked = {"type": "approval", "prompt": "Go on?", **body}
    return caller.post(f"/runs/{run.run_id}/requests", asked)


def test_an_executor_asks_and_gets_its_step_again_with_the_answer(
    laptop: Program, run: Run
) -> None:
    lease = take(laptop, run)["lease"]

    asked = body_of(ask(laptop, run, lease=lease, type="clarification", prompt="Which database?"))
    waits = take(laptop, run)
    f.answer(run, "PostgreSQL, please")
    again = take(laptop, run)

    assert (asked["type"], asked["step"], asked["options"]) == ("clarification", "one", [])
    assert waits == {"action": "wait", "request_id": asked["request_id"]}
    assert (again["step"], again["briefing"]["action"]) == ("one", "answer")
    assert again["briefing"]["feedback"]["response"] == "PostgreSQL, please"
    assert again["briefing"]["failure_context"] is None
    assert finish(laptop, run, lease).status_code == 409, "the question ended that lease"
    assert body_of(finish(laptop, run, again["lease"]))["step"] == "two"
    assert "step_error" not in f.told(run)


def test_an_agent_asks_before_it_takes_the_step(laptop: Program, run: Run) -> None:
    asked = ask(laptop, run, type="selection", prompt="Which?", options=["red", "blue"])

    assert asked.status_code == 201
    assert [o["value"] for o in body_of(asked)["options"]] == ["red", "blue"]
    f.answer(run, "2")
    assert take(laptop, run)["briefing"]["feedback"]["response"] == "blue"


def test_what_is_asked_about_is_shown(laptop: Program, run: Run) -> None:
    document = {"path": "notes/a.md", "content": "# A\n"}

    asked = body_of(ask(laptop, run, type="review", artifact=document, context={"summary": "x"}))

    assert [(a["path"], a["revision"]) for a in asked["artifacts"]] == [("notes/a.md", 1)]
    assert asked["context"] == {"summary": "x"}


def test_the_questions_of_a_form_may_be_plain_words(laptop: Program, run: Run) -> None:
    asked = body_of(
        ask(
            laptop,
            run,
            type="clarification",
            context={"questions": ["Which?", {"question": "Why?"}]},
        )
    )

    assert asked["context"]["questions"] == [
        {"id": "q1", "question": "Which?", "options": []},
        {"id": "q2", "question": "Why?", "options": []},
    ]
    assert faber("show", asked["request_id"]).code == 0


def test_a_rejected_question_ends_the_run(laptop: Program, run: Run) -> None:
    ask(laptop, run)

    f.answer(run, "reject")

    assert take(laptop, run) == {"action": "done", "status": "cancelled"}


def test_a_run_asks_one_thing_at_a_time(laptop: Program, run: Run) -> None:
    first = body_of(ask(laptop, run))["request_id"]

    second = ask(laptop, run)

    assert second.status_code == 409
    assert first in error_of(second)["message"]


def test_while_another_holds_the_step_its_lease_is_needed_to_ask(
    laptop: Program, other: Program, run: Run
) -> None:
    take(laptop, run)

    assert ask(other, run).status_code == 409
    assert run.attempts.get().status == "running"


def test_nobody_asks_for_a_run_that_our_worker_executes_or_that_has_ended(
    laptop: Program,
) -> None:
    ours = f.start(f.five_steps())
    ended = f.started(f.workflow({"build": [f.step("x")]}))

    assert ask(laptop, ours).status_code == 409
    assert "completed" in error_of(ask(laptop, ended))["message"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"type": "selection"}, "options"),
        ({"type": "clarification", "options": ["a"]}, "options"),
        ({"type": "approval", "options": ["odd"]}, "options"),
        ({"type": "selection", "options": ["a", "a"]}, "options"),
        ({"type": "selection", "options": ["a", "  "]}, "options"),
        ({"type": "selection", "options": [{"value": "\n"}]}, "options"),
        ({"type": "selection", "options": [{"value": "a", "action": "odd"}]}, "options"),
        ({"type": "odd"}, "type"),
        ({"prompt": "  "}, "prompt"),
        ({"artifact": {"path": "../x", "content": ""}}, "files"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    laptop: Program, run: Run, body: dict[str, object], place: str
) -> None:
    response = ask(laptop, run, **body)

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"].startswith(place)
    assert run.attempts.get().status == "queued"


def test_a_wrong_option_is_named_by_its_place_in_what_was_sent(laptop: Program, run: Run) -> None:
    wrong = [5, {"value": 1}, {"action": "skip"}, "", {"value": "a", "vlaue": "b"}]

    problems = error_of(ask(laptop, run, type="selection", options=wrong))["details"]["problems"]

    assert [(each["place"], each["message"]) for each in problems] == [
        ("options.0", "must be an object or a string"),
        ("options.1.value", "must be a string"),
        ("options.2.value", "Field required"),
        ("options.3", "String should have at least 1 character"),
        ("options.4.vlaue", "Extra inputs are not permitted"),
    ]


def test_an_agent_cannot_make_a_project_by_asking(laptop: Program) -> None:
    body = {"type": "confirmation", "prompt": "Delete it?", "project": "Other/Private"}

    response = laptop.post("/requests", {**body, "work_id": 7})

    assert response.status_code == 404
    assert not Project.objects.filter(name="Other/Private").exists()


def test_a_program_without_a_run_asks_too(laptop: Program) -> None:
    Project.objects.create(name="Acme/App")
    body = {"type": "confirmation", "prompt": "Delete it?", "project": "Acme/App", "work_id": 7}

    asked = body_of(laptop.post("/requests", body))
    run = Run.objects.get(run_id=asked["run_id"])
    f.answer(run, "confirm")

    assert asked["work_id"] == "7"
    assert (run.project.name, run.started_by) == ("Acme/App", "laptop")
    answered = body_of(laptop.get(f"/requests/{asked['request_id']}/wait"))
    assert answered["response"]["response"] == "confirm"
    assert f.fresh(run).status == "completed"


def test_a_question_without_a_run_may_go_through_several_revisions(laptop: Program) -> None:
    def draft(text: str) -> dict[str, object]:
        return {
            "type": "review",
            "prompt": "Good?",
            "artifact": {"path": "a.md", "content": text},
        }

    run = Run.objects.get(run_id=body_of(laptop.post("/requests", draft("one")))["run_id"])
    f.answer(run, "request_changes", "More.")
    second = body_of(ask(laptop, run, **draft("two")))
    f.answer(run, "approve")

    assert second["artifacts"][0]["revision"] == 2
    assert f.fresh(run).status == "completed"


def test_a_question_that_is_refused_leaves_no_run_behind(laptop: Program) -> None:
    assert laptop.post("/requests", {"type": "selection", "prompt": "x"}).status_code == 422
    assert Run.objects.count() == 0


def test_asking_twice_with_one_key_asks_once(laptop: Program) -> None:
    key = {"Idempotency-Key": "k"}
    body = {"type": "approval", "prompt": "Go?"}

    first, again = laptop.post("/requests", body, key), laptop.post("/requests", body, key)

    assert body_of(first) == body_of(again)
    assert Run.objects.count() == 1
