"""A worker killed between any two statements of claim and settle: the run goes on."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from runs import engine
from runs.engine import conformance, history
from runs.models import Run, StepAttempt
from runs.worker import advance
from tests import factories as f

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.chaos]

MOST_STATEMENTS = 60


class Countdown:
    """Counts statements and kills this very process before the one that is meant."""

    def __init__(self, fatal: int) -> None:
        self.left = fatal

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return execute(sql, params, many, context)


def was_killed(act: Callable[[], object], fatal: int) -> bool:
    """Act in a process of its own; whether it was killed before it was done."""

    def act_until_killed() -> None:
        with connection.execute_wrapper(Countdown(fatal)):
            act()

    connections.close_all()
    process = multiprocessing.get_context("fork").Process(target=act_until_killed)
    process.start()
    process.join()
    return process.exitcode == -signal.SIGKILL


def work(run: Run) -> None:
    advance.drive(engine.claim(run.pk, advance.worker_name()))


def executions(log: Path, step: str) -> int:
    return log.read_text().split().count(step) if log.exists() else 0


@pytest.mark.timeout(300)
def test_a_worker_killed_before_any_statement_loses_nothing(tmp_path: Path) -> None:
    document = f.workflow(
        {"build": [f.step("a", "tests.steps:log"), f.step("b", "tests.steps:log")]}
    )
    for fatal in range(MOST_STATEMENTS):
        workspace = tmp_path / str(fatal)
        workspace.mkdir()
        run = f.start(document, workspace=workspace)
        killed = was_killed(partial(work, run), fatal)
        finished = set(run.attempts.filter(status="finished").values_list("step", flat=True))
        before = {step: executions(workspace / "log", step) for step in finished}

        f.lose(run)
        run = f.work(run)

        assert run.status == "completed", f"killed before statement {fatal}"
        assert conformance.verdict_of(run).conforms
        assert history.broken_links(run) == []
        done = StepAttempt.objects.filter(run=run, status="finished")
        assert sorted(done.values_list("step", flat=True)) == ["a", "b"]
        for step, times in before.items():
            assert executions(workspace / "log", step) == times, f"{step} was executed again"
        if not killed:
            assert fatal > 12  # the count really went through claim and settle
            return
    pytest.fail("the run needed more statements than were tried")


@pytest.mark.timeout(300)
def test_an_answer_killed_before_any_statement_is_whole_or_was_never_given() -> None:
    for fatal in range(MOST_STATEMENTS):
        run = f.started(f.five_steps())
        killed = was_killed(partial(f.answer, run, "approve"), fatal)

        run = f.fresh(run)
        if run.status == "awaiting_feedback":
            assert f.pending(run).responses.count() == 0
            assert "feedback_received" not in f.told(run)
            assert killed, "an answer that was taken is not on record"
            f.answer(run, "approve")
        assert f.work(run).status == "completed"
        assert f.told(run).count("approval_granted") == 1
        if not killed:
            assert fatal > 6
            return
    pytest.fail("the answer needed more statements than were tried")
