"""What `faber up`, `web` and `work` survive: kill -9 of every process they consist of."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faber_site.runtime import pulse
from tests.chaos.scratch import Process, Scratch, eventually
from tests.sites import seed

# One after another: their promises are seconds.
pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

# What the product promises: everything goes on within fifteen seconds, and ends within ten.
BACK = 60  # a bound, on a busy machine
ENDED = 10
PATIENCE = 60  # a bound for what is no promise, on a busy machine


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    with closing(Scratch(seed(tmp_path))) as scratch:
        yield scratch


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """One worker for all that is killed in turn: it has to survive them all."""
    with closing(Scratch(seed(tmp_path_factory.mktemp("working")))) as scratch:
        assert scratch.start("work") == ["FABER worker is ready\n"]
        assert scratch.has_all_workers_within(BACK)
        yield scratch


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    with closing(Scratch(seed(tmp_path_factory.mktemp("serving")))) as scratch:
        assert scratch.start("web") == [f"FABER is ready: http://127.0.0.1:{scratch.port}/\n"]
        yield scratch


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(lambda scratch: scratch.workers(), id="idle workers"),
        pytest.param(lambda scratch: scratch.workers()[:1], id="one idle worker"),
        pytest.param(lambda scratch: scratch.short_workers(), id="workers for short jobs"),
        pytest.param(lambda scratch: scratch.short_workers()[:1], id="one for short jobs"),
        pytest.param(lambda scratch: [scratch.leader("cluster")], id="cluster"),
        pytest.param(lambda scratch: [scratch.leader("watch")], id="watch"),
    ],
)
def test_jobs_are_executed_again_after_a_kill(
    working: Scratch, victims: Callable[[Scratch], list[Process]]
) -> None:
    killed = victims(working)
    for victim in killed:
        victim.kill()

    assert eventually(lambda: {v.pid for v in killed}.isdisjoint(working.pids()), within=BACK)
    assert working.works_within(BACK)
    assert working.has_all_workers_within(BACK)


def test_a_stuck_cluster_is_replaced(scratch: Scratch) -> None:
    scratch.start("work")
    before = scratch.leader("cluster")

    for worker in scratch.idle_workers():
        os.kill(worker.pid, signal.SIGSTOP)

    assert eventually(lambda: before.pid not in scratch.pids(), within=BACK)
    assert scratch.works_within(BACK)
    assert scratch.has_all_workers_within(BACK)


def test_a_busy_worker_survives_the_end_of_its_cluster(scratch: Scratch) -> None:
    scratch.start("work")
    busy = scratch.keep_a_worker_busy(until=scratch.folder / "enough")

    scratch.leader("cluster").kill()

    assert scratch.works_within(BACK)
    assert busy.pid in scratch.pids()
    (scratch.folder / "enough").touch()
    assert eventually((scratch.folder / "enough.done").exists, within=BACK)
    assert eventually(lambda: busy.pid not in scratch.pids(), within=5)


def test_a_busy_worker_is_not_disturbed_by_the_death_of_others(scratch: Scratch) -> None:
    scratch.start("work")
    busy = scratch.keep_a_worker_busy(until=scratch.folder / "enough")

    for process in scratch.idle_workers():
        process.kill()

    assert scratch.works_within(BACK)
    (scratch.folder / "enough").touch()
    assert eventually((scratch.folder / "enough.done").exists, within=BACK)
    assert busy.pid in scratch.pids()


def test_the_step_of_a_killed_worker_is_taken_up_again(scratch: Scratch) -> None:
    scratch.settings = {"FABER_LEASE_SECONDS": "4"}
    scratch.start("work")
    scratch.start_run("echo begun >> begun; sleep 2")

    scratch.worker_of(attempt=1).kill()

    scratch.worker_of(attempt=2)
    assert eventually(lambda: scratch.attempts()[-1].status == "finished", within=BACK)
    assert [attempt.reason for attempt in scratch.attempts()] == [
        "its worker stopped reporting",
        "attempt 1: its worker stopped reporting",
    ]


def test_a_step_that_was_stopped_goes_on_after_the_next_start(scratch: Scratch) -> None:
    scratch.start("work")
    scratch.start_run("test -e second && exit; touch second; sleep 60")
    scratch.worker_of(attempt=1)

    scratch.ask_to_end(signal.SIGTERM)
    scratch.start("work")

    assert eventually(lambda: scratch.attempts()[-1].status == "finished", within=BACK)
    assert [attempt.reason for attempt in scratch.attempts()] == [
        "its worker was stopped",
        "attempt 1: its worker was stopped",
    ]


def test_silence_means_nothing_while_all_workers_are_busy(scratch: Scratch) -> None:
    scratch.start("work")
    before = scratch.leader("cluster")
    enough = [scratch.folder / f"enough-{number}" for number in range(3)]
    for each in enough:
        scratch.keep_a_worker_busy(until=each)

    # As many looks as make an idle cluster count as stuck, and then some.
    time.sleep((pulse.PATIENCE + 1) * pulse.INTERVAL)
    for each in enough:
        each.touch()
    assert scratch.works_within(BACK)
    assert scratch.leader("cluster") == before


def test_visitors_wait_while_the_site_is_replaced(serving: Scratch) -> None:
    before = serving.leader("web")

    before.kill()

    assert eventually(lambda: before.pid not in serving.pids(), within=5)
    assert serving.leader("web") != before
    assert eventually(lambda: serving.answers("/healthz"), within=BACK)


def test_a_taken_port_is_told_in_a_sentence(serving: Scratch, scratch: Scratch) -> None:
    scratch.port = serving.port

    second = scratch.run("web")

    assert second.communicate(timeout=PATIENCE)[0] == ""
    assert second.returncode == 1
    assert scratch.log.read_text() == (
        f"Port {scratch.port} on 127.0.0.1 is in use. Stop the other program or set FABER_PORT.\n"
    )


def test_up_prints_its_address_and_a_way_in(scratch: Scratch) -> None:
    ready, sign_in = scratch.start("up")

    assert ready == f"FABER is ready: http://127.0.0.1:{scratch.port}/\n"
    assert sign_in.startswith(f"Sign in: http://127.0.0.1:{scratch.port}/login/")
    assert scratch.answers("/readyz")
    assert scratch.ask_to_end(signal.SIGINT) == ""
    assert eventually(lambda: scratch.pids() == [], within=5)


def test_two_first_starts_at_once_do_not_collide(tmp_path: Path) -> None:
    worker, site = Scratch(tmp_path), Scratch(tmp_path)
    with closing(worker), closing(site):
        worker.faber, site.faber = worker.run("work"), site.run("web", "--json")
        assert worker.faber.stdout
        assert site.faber.stdout

        assert worker.faber.stdout.readline() == "FABER worker is ready\n"
        assert json.loads(site.faber.stdout.readline()) == {
            "site": f"http://127.0.0.1:{site.port}/"
        }
        assert eventually(lambda: site.answers("/readyz"), within=BACK)


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_everything_ends_when_asked_to_even_in_the_middle_of_a_step(
    scratch: Scratch, asked: signal.Signals
) -> None:
    scratch.start("work")
    scratch.start_run("sleep 60")
    scratch.worker_of(attempt=1)

    begun = time.monotonic()
    scratch.ask_to_end(asked)

    assert time.monotonic() - begun < ENDED
    assert eventually(lambda: scratch.pids() == [], within=5)


def test_asked_twice_it_ends_at_once(scratch: Scratch) -> None:
    """Against being asked once, a moment before, on the same machine: that may be busy."""
    once, twice = (_ended_after(scratch, times) for times in (1, 2))

    assert twice < once
    assert eventually(lambda: scratch.pids() == [], within=5)


def _ended_after(scratch: Scratch, times: int) -> float:
    """How long `faber work` with a busy worker takes to end once it was asked so often."""
    scratch.start("work")
    scratch.keep_a_worker_busy(until=scratch.folder / f"enough-{times}")
    assert scratch.faber
    for _ in range(times - 1):
        scratch.faber.send_signal(signal.SIGINT)
        # One that has a short job for a moment is not idle; two signals at once would count as one.
        assert eventually(lambda: not scratch.idle_workers(), within=10)
    begun = time.monotonic()
    scratch.ask_to_end(signal.SIGINT)
    return time.monotonic() - begun


@pytest.mark.parametrize("command", ["work", "web"])
def test_nothing_outlives_a_killed_supervisor(scratch: Scratch, command: str) -> None:
    scratch.start(command)
    if command == "work":
        scratch.start_run("sleep 60")
        scratch.worker_of(attempt=1)
    assert scratch.faber

    scratch.faber.kill()

    assert eventually(lambda: scratch.pids() == [], within=ENDED)
