"""The five-step workload on one database: pauses after step 2, three steps after the answer."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import django

from bench.ground.scratch_site import ROOT
from faber_site.runtime import memory

if TYPE_CHECKING:
    from runs.domain.workflow.plan import Plan
    from runs.models import Project

NOTE = "bench.ground.steps:note"
WORKLOAD = {
    "id": "bench",
    "phases": {
        "frame": {"steps": [{"id": "one", "python": NOTE}]},
        "architect": {"steps": [{"id": "two", "python": NOTE, "requires_approval": True}]},
        "build": {"steps": [{"id": "three", "python": NOTE}]},
        "evaluate": {"steps": [{"id": "four", "python": NOTE}]},
        "release": {"steps": [{"id": "five", "python": NOTE}]},
    },
}
BURST = 100
SEQUENTIAL = 60
FEW, MANY = 100, 20_000
PAUSE = 0.02  # between two looks: often enough, and the cores are for what is measured

Condition = Callable[[], bool]


def main() -> None:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from bench.ground import filling  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    rows = []
    with worker():
        burst(10)  # warm: imports, connections, the planner's first look at the tables
        memory.keep_what_is_loaded()  # as the site does, where people answer
        for there in (FEW, MANY):
            filling.fill_up_to(there)
            rows.append({"runs": there, **measured()})
    print(json.dumps(rows))


@contextlib.contextmanager
def worker(command: Sequence[str] = (sys.executable, "manage.py", "work")) -> Iterator[None]:
    """The same processes that `faber work` starts."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        if "ready" not in process.stdout.readline():
            raise RuntimeError("the worker did not become ready")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def measured() -> dict[str, object]:
    bursts = [burst(BURST) for _ in range(3)]
    delays = [one_delay() for _ in range(SEQUENTIAL)]
    return {
        "loop_ms": round(loop() * 1000),
        "started_per_second": round(statistics.median(b[0] for b in bursts), 1),
        "completed_per_second": round(statistics.median(b[1] for b in bursts), 1),
        "latency_p50_ms": round(statistics.median(delays) * 1000, 1),
        "latency_p95_ms": round(statistics.quantiles(delays, n=20)[-1] * 1000, 1),
        "inbox_p50_ms": round(statistics.median(inbox() for _ in range(20)) * 1000, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def loop() -> float:
    """How fast the machine is just now; figures of two runs compare only where this does."""
    began = time.perf_counter()
    for _ in range(10_000_000):
        pass
    return time.perf_counter() - began


def burst(count: int) -> tuple[float, float]:
    """Runs per second to the pause, and from the answers to completion."""
    began = time.perf_counter()
    runs = [start() for _ in range(count)]
    wait_until(lambda: states(runs, "awaiting_feedback") == count)
    paused = time.perf_counter()
    for run in runs:
        answer(asked(run))
    wait_until(lambda: states(runs, "completed") == count)
    return count / (paused - began), count / (time.perf_counter() - paused)


def one_delay() -> float:
    """Seconds from issuing an answer to the first resumed step's code, in the worker process."""
    from runs.models import StepAttempt  # noqa: PLC0415

    run = start()
    wait_until(lambda: states([run], "awaiting_feedback") == 1)
    request = asked(run)
    issued = time.time()
    answer(request)
    time.sleep(0.05)  # who answered looks elsewhere; a query now would compete with the worker
    wait_until(lambda: states([run], "completed") == 1)
    response = StepAttempt.objects.get(run_id=run, step="three").response or {}
    return float(response["details"]["at"]) - issued


def inbox() -> float:
    from feedback.models import FeedbackRequest  # noqa: PLC0415

    began = time.perf_counter()
    list(FeedbackRequest.objects.filter(status="pending").select_related("run__project")[:50])
    return time.perf_counter() - began


def start() -> int:
    from runs import engine  # noqa: PLC0415
    from runs.domain.values.actors import POLICY  # noqa: PLC0415

    plan, project = _ordered()
    order = engine.Start(plan=plan, project=project, workspace=Path("/"), actor=POLICY)
    return engine.start(order)[0].pk


@cache
def _ordered() -> tuple["Plan", "Project"]:
    """What every run is started with: read once, as a peer compiles its graph once."""
    from runs.domain.workflow.merge import make_plan  # noqa: PLC0415
    from runs.models import Project  # noqa: PLC0415
    from runs.workflow_files import library  # noqa: PLC0415

    chain = library.load_definition(WORKLOAD, workspace=None)
    project, _ = Project.objects.get_or_create(name="faber/bench")
    return make_plan(chain.workflows).plan, project


def asked(run: int) -> str:
    """What the reviewer has before them."""
    from feedback.models import FeedbackRequest  # noqa: PLC0415

    pending = FeedbackRequest.objects.filter(run_id=run, status="pending")
    return pending.values_list("request_id", flat=True).get()


def answer(request: str) -> None:
    from feedback.requests.answers import respond  # noqa: PLC0415
    from runs.domain.values.actors import Actor, Source  # noqa: PLC0415

    reviewer = Actor(
        name="bench", source=Source.API, method="token", groups=frozenset({"reviewer"})
    )
    respond(request, "approve", actor=reviewer)


def states(runs: list[int], status: str) -> int:
    from runs.models import Run  # noqa: PLC0415

    return Run.objects.filter(pk__in=runs, status=status).count()


def wait_until(condition: Condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the workload did not get there")
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
