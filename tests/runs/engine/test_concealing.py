"""No secret of a step is kept, whichever way it came in."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings as site

from runs import engine
from runs.domain.responses.results import read_response
from runs.domain.values.events import Entry, EventType
from runs.domain.values.questions import FeedbackType, Gate, Question
from runs.domain.values.secrets.redaction import REDACTED
from runs.engine.concealing import asked, concealed
from runs.executors.orders import Outcome
from runs.models import StepAttempt
from runs.models.live_output import LiveOutput
from runs.worker import remote
from tests import factories as f
from tests.sample_secrets import PRIVATE_KEY, TOKENS

pytestmark = pytest.mark.django_db

TOKEN = TOKENS["Anthropic"]
RESPONSE = {
    "status": "failure",
    "message": f"refused {TOKEN}",
    "errors": [{"text": f"the key {TOKEN} is wrong", "severity": "high"}],
    "warnings": [f"saw {TOKEN}"],
    "error_analysis": f"{TOKEN} was sent",
    "suggested_fixes": [f"replace {TOKEN}"],
    "details": {"tried": [{"with": TOKEN}], TOKEN: "as a name", "password": "hunter2"},
}


def kept() -> str:
    """All that the database holds, but for the plans: those are what their authors wrote."""
    return "\n".join(_texts())


def _texts() -> Iterator[str]:
    for model in apps.get_models():
        for row in model._default_manager.values():
            yield json.dumps({k: v for k, v in row.items() if k != "plan"}, default=str)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    """A plan holds what its author wrote, so the steps get their secrets from a file."""
    (tmp_path / "secrets.txt").write_text(f"using {TOKEN}\n{PRIVATE_KEY}\n")
    return tmp_path


def reading(**fields: object) -> f.Json:
    return f.workflow({"build": [{"id": "read", **fields}]})


def test_what_a_step_prints_is_kept_without_secrets(secret_file: Path) -> None:
    run = f.started(reading(run=["cat", "secrets.txt"]), secret_file)

    output = run.attempts.get().output
    assert output.text("stdout") == f"using {REDACTED}\n{REDACTED}\n"
    assert TOKEN not in kept()


def test_what_a_failed_step_prints_is_kept_without_secrets(secret_file: Path) -> None:
    run = f.started(reading(run=["sh", "-c", "cat secrets.txt >&2; exit 3"]), secret_file)

    assert REDACTED in str(f.pending(run).context["errors"])
    assert TOKEN not in kept()
    assert PRIVATE_KEY.splitlines()[3] not in kept()


def test_a_response_is_kept_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "response.json").write_text(json.dumps(RESPONSE))
    run = f.started(reading(run=["cat", "response.json"]), tmp_path)

    attempt = run.attempts.get()
    assert attempt.message == f"refused {REDACTED}"
    assert (attempt.response or {})["details"]["password"] == REDACTED
    assert TOKEN not in kept()
    assert "hunter2" not in kept()

    run = f.answered(run, "retry")
    failed = run.attempts.get(number=2).failure_context or {}
    assert failed["previous_failure"]["errors"] == [f"the key {REDACTED} is wrong"]
    assert TOKEN not in kept()


def test_a_python_step_that_raises_is_kept_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN", TOKEN)
    f.started(f.workflow({"build": [f.step("raise", "tests.steps:raise_given")]}), tmp_path)

    assert TOKEN not in kept()
    assert f"ValueError: {REDACTED}" in kept()


def test_the_words_of_evidence_are_kept_without_secrets(secret_file: Path) -> None:
    evidence = [{"command": ["sh", "-c", "cat secrets.txt; exit 1"]}]
    f.started(reading(run=["true"], evidence=evidence), secret_file)

    assert "evidence is missing" in kept()
    assert TOKEN not in kept()


def test_what_is_shown_while_a_step_runs_is_kept_without_secrets(
    secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    # The rows are written by a thread, which sees nothing of this test's transaction.
    monkeypatch.setattr(engine, "keep", lambda *_: True)
    monkeypatch.setattr(LiveOutput, "add", lambda _self, lines: seen.extend(lines))
    script = "import time; print(open('secrets.txt').read(), flush=True); time.sleep(1.5)"

    f.started(reading(run=[sys.executable, "-c", script]), secret_file)

    assert f"using {REDACTED}" in "\n".join(seen)
    assert not any(TOKEN in text for text in seen)


def test_the_sites_own_secrets_are_known_by_their_value(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(site.SECRET_KEY)
    f.started(reading(run=["cat", "key"]), tmp_path)

    assert site.SECRET_KEY not in kept()


def test_a_late_response_is_kept_without_secrets() -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}))
    claim = engine.claim(run.pk, "somebody")
    assert claim
    run.attempts.update(worker="somebody else")

    engine.settle(claim, Outcome(result=read_response(RESPONSE, step="one"), stdout=TOKEN))

    late = StepAttempt.objects.get().late_response or {}
    assert late["message"] == f"refused {REDACTED}"
    assert TOKEN not in kept()


def test_the_question_of_an_executor_outside_is_kept_without_secrets() -> None:
    run = remote.start_asking(f.STARTER, project="Acme/App", work_id="")
    question = Question(
        type=FeedbackType.CLARIFICATION,
        gate=Gate.INPUT,
        prompt=f"Is {TOKEN} yours?",
        context={"found": TOKEN},
    )

    remote.ask(run, question, executor="laptop", lease="", files=())

    assert f.pending(run).prompt == f"Is {REDACTED} yours?"
    assert TOKEN not in kept()


def test_the_words_of_a_person_stay_for_the_step_and_are_taken_out_of_the_history() -> None:
    run = f.started(f.workflow({"build": [f.step("ask", "tests.steps:ask"), f.step("two")]}))

    f.answer(run, f"use {TOKEN}")

    event = run.events.get(type="feedback_received")
    assert TOKEN not in json.dumps(event.document)
    told = run.attempts.get(number=2).feedback or {}
    assert told["response"] == f"use {TOKEN}"


def test_a_name_of_a_token_in_the_history_is_no_secret() -> None:
    run = f.started(f.five_steps())
    said = {"provided_by": {"user": "Rita", "token": "ci-bot-7"}}

    engine.record(f.fresh(run), [Entry(type=EventType.CHECKPOINT, metadata=said)])

    assert run.events.get(type="checkpoint").document["metadata"] == said


def test_a_question_keeps_its_options() -> None:
    question = Question(type=FeedbackType.APPROVAL, gate=Gate.AFTER_STEP, prompt=f"ok? {TOKEN}")

    assert asked(question).prompt == concealed(question.prompt) == f"ok? {REDACTED}"
    assert asked(question).options == question.options
