"""A site on Celery: what it promises holds when workers die, and when the broker does."""

import os
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import brokers
from tests.brokers import BrokerServer, RabbitServer, RedisServer
from tests.chaos.scratch import Scratch, eventually
from tests.chaos.storm import scenes
from tests.chaos.storm.broker_faults import faults_on
from tests.chaos.storm.faults import Kill
from tests.chaos.storm.hosts import Host
from tests.chaos.storm.storm import Plan, blow
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

BACK = 60  # a bound, on a busy machine


@pytest.fixture
def redis_server() -> Iterator[BrokerServer]:
    with brokers.running(RedisServer) as server:
        yield server


@pytest.fixture
def site(tmp_path: Path, redis_server: BrokerServer) -> Iterator[Scratch]:
    with closing(Scratch(seed(tmp_path / "data"), redis_server.settings)) as scratch:
        yield scratch


def statuses(site: Scratch) -> list[str]:
    return [attempt.status for attempt in site.attempts()]


@pytest.mark.timeout(300)
def test_nothing_is_lost_and_nothing_done_twice_on_celery(redis_server: BrokerServer) -> None:
    chosen = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    kills = [Kill("workers", Host.workers), Kill("a cluster", Host.clusters)]
    faults = [*kills, *faults_on(redis_server)]
    with scenes.on_sqlite(**redis_server.settings, FABER_LEASE_SECONDS="2") as scene:
        plan = Plan(seed=chosen, faults=faults, seconds=0, longest_lock=4, runs=6, calm=0.3)
        report = blow(scene, plan, print)

    told = "\n".join(report.lines())
    assert not report.violations, f"seed {chosen}, logs in {scene.folder}\n{told}"
    assert report.history.answers, told
    shutil.rmtree(scene.folder)


def test_a_step_outlives_its_lane_and_its_broker(site: Scratch, redis_server: BrokerServer) -> None:
    work = site.folder.parent
    assert site.start("work") == ["FABER worker is ready\n"]
    site.start_run(
        "echo one >> ran; until [ -e go ]; do sleep 0.1; done", "echo two >> ran", workspace=work
    )
    site.worker_of(attempt=1)

    redis_server.kill()
    site.lane().kill()
    (work / "go").touch()
    assert eventually(lambda: statuses(site)[:1] == ["finished"], within=BACK)
    redis_server.start()

    assert eventually(lambda: statuses(site) == ["finished", "finished"], within=BACK)
    assert (work / "ran").read_text().split() == ["one", "two"]
    assert site.has_all_workers_within(BACK)
    assert "eprecat" not in site.log.read_text()


def test_a_site_whose_broker_is_down_says_so_and_starts_when_it_is_back(
    site: Scratch, redis_server: BrokerServer
) -> None:
    redis_server.kill()
    faber = site.run("work")
    assert eventually(lambda: "out of reach" in site.log.read_text(), within=BACK)
    site.start_run("touch done")
    redis_server.start()

    site.faber = faber
    assert faber.stdout
    assert faber.stdout.readline() == "FABER worker is ready\n"
    assert eventually(lambda: statuses(site) == ["finished"], within=BACK)
    assert "Traceback" not in site.log.read_text()
    site.ask_to_end(signal.SIGTERM)
    assert not site.processes()


def test_runs_are_executed_on_rabbitmq(tmp_path: Path) -> None:
    with (
        brokers.running(RabbitServer) as server,
        closing(Scratch(seed(tmp_path / "data"), server.settings)) as site,
    ):
        assert site.start("work") == ["FABER worker is ready\n"]
        site.start_run("echo one >> ran", "echo two >> ran", workspace=tmp_path)

        assert eventually(lambda: statuses(site) == ["finished", "finished"], within=BACK)
        assert (tmp_path / "ran").read_text().split() == ["one", "two"]
