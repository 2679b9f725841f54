"""What a running step prints is added, never written again; what it printed takes little room."""

import pytest

from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.executors import Outcome
from runs.models import OutputPart, StepAttempt, StepOutput, live_output
from runs.models.live_output import SHOWN_LINES, LiveOutput
from tests import factories as f
from tests.agent_output import agent_output

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def attempt() -> StepAttempt:
    claim = engine.claim(f.start(f.five_steps()).pk, "worker")
    assert claim
    return claim.attempt


def test_lines_are_shown_in_their_order(attempt: StepAttempt) -> None:
    assert live_output.tail(attempt) == ""
    first = live_output.version(attempt)
    shown = LiveOutput(attempt.pk)

    shown.add(["one", "", "two"])
    second = live_output.version(attempt)
    shown.add(["drei"])

    assert live_output.tail(attempt) == "one\n\ntwo\ndrei"
    assert first < second < live_output.version(attempt)


def test_however_much_is_printed_each_line_is_written_once_and_few_are_kept(
    attempt: StepAttempt,
) -> None:
    shown = LiveOutput(attempt.pk)

    for number in range(1000):
        shown.add([f"{number} " + "x" * 2000])

    parts = OutputPart.objects.values_list("lines", flat=True)
    assert len(parts) == SHOWN_LINES
    assert sum(map(len, parts)) < SHOWN_LINES * 100
    assert live_output.tail(attempt).startswith("800 xxx")
    assert live_output.tail(attempt).count("\n") == SHOWN_LINES - 1


def test_the_end_of_a_step_has_everything_and_clears_the_parts(attempt: StepAttempt) -> None:
    LiveOutput(attempt.pk).add(["one"])
    run = attempt.run
    claim = engine.held_by("worker", run.pk, since=0)
    assert claim

    done = Result(status=ResultStatus.SUCCESS, message="done")
    engine.settle(claim, Outcome(result=done, stdout="one\ntwo"))

    assert not OutputPart.objects.exists()
    assert StepOutput.objects.get(attempt=attempt).stdout == "one\ntwo"


def test_the_last_lines_of_a_lost_step_are_told_to_whoever_looks_into_it(
    attempt: StepAttempt,
) -> None:
    LiveOutput(attempt.pk).add(["almost there"])

    f.lose(attempt.run)

    attempt.refresh_from_db()
    assert attempt.response is not None
    assert attempt.response["details"]["output_tail"] == "almost there"
    assert not OutputPart.objects.exists()


def test_what_an_agent_printed_is_stored_in_a_sixth_and_read_as_it_was(
    attempt: StepAttempt,
) -> None:
    said = agent_output(900_000)

    StepOutput.objects.create(attempt=attempt, **StepOutput.columns(said, "a warning"))

    kept = StepOutput.objects.get(attempt=attempt)
    assert len(said) > 900_000
    assert len(bytes(kept.packed_stdout or b"")) + len(kept.stdout) < 150_000
    assert (kept.text("stdout"), kept.text("stderr")) == (said, "a warning")


@pytest.mark.parametrize("text", ["", "short", "ü" * 600, "x\n" * 30_000])
def test_whatever_a_step_printed_is_read_as_it_was(attempt: StepAttempt, text: str) -> None:
    StepOutput.objects.create(attempt=attempt, **StepOutput.columns(text, text))

    kept = StepOutput.objects.get(attempt=attempt)

    assert kept.text("stdout") == kept.text("stderr") == text


def test_what_the_release_before_stored_is_read_too(attempt: StepAttempt) -> None:
    StepOutput.objects.create(attempt=attempt, stdout="plain " * 500)

    assert StepOutput.objects.get(attempt=attempt).text("stdout") == "plain " * 500
