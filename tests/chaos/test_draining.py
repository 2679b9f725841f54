"""Upgrades beside work: workers that are drained, and the last release's beside this one's."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.databases import prepared
from tests.chaos.releases import last_release
from tests.chaos.scratch import Scratch, eventually

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

BACK = 60  # a bound, on a busy machine


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Scratch]:
    data = tmp_path / "data"
    with closing(Scratch(data, prepared(data))) as scratch:
        yield scratch


def statuses(site: Scratch) -> list[str]:
    return [attempt.status for attempt in site.attempts()]


def is_waited_for(process: subprocess.Popen[str]) -> bool:
    return process.poll() is None


@pytest.mark.database
def test_a_drained_worker_finishes_its_step_and_leaves_the_next_to_others(site: Scratch) -> None:
    work = site.folder.parent
    site.start("work")
    site.start_run(
        "echo one >> ran; until [ -e go ]; do sleep 0.1; done", "echo two >> ran", workspace=work
    )
    site.worker_of(attempt=1)

    drain = site.run("work", "--drain", "--json")
    assert eventually((site.folder / "drain").exists, within=BACK)
    assert site.faber
    assert is_waited_for(drain)
    assert is_waited_for(site.faber)
    (work / "go").touch()

    told, _ = drain.communicate(timeout=BACK)
    assert (drain.returncode, json.loads(told)) == (0, {"asked": 1, "left": 0, "elsewhere": []})
    site.faber.communicate(timeout=BACK)
    assert site.faber.returncode == 0
    assert statuses(site) == ["finished", "queued"]

    site.start("work")

    assert eventually(lambda: statuses(site) == ["finished", "finished"], within=BACK)
    assert (work / "ran").read_text().split() == ["one", "two"]
    assert [attempt.reason for attempt in site.attempts()] == ["", ""]


def test_a_drain_that_takes_too_long_says_so_and_goes_on(site: Scratch) -> None:
    site.start("work")
    site.start_run("until [ -e go ]; do sleep 0.1; done", workspace=site.folder.parent)
    site.worker_of(attempt=1)

    drain = site.run("work", "--drain", "--timeout", "0.5")
    told, _ = drain.communicate(timeout=BACK)

    assert drain.returncode == 3
    assert told.startswith("Some steps are still running.")
    (site.folder.parent / "go").touch()
    assert site.faber
    assert site.faber.wait(timeout=BACK) == 0
    assert statuses(site) == ["finished"]


def test_the_site_of_up_stays_when_its_workers_are_drained(site: Scratch) -> None:
    site.start("up")

    drain = site.run("work", "--drain")
    assert drain.communicate(timeout=BACK)[0] == "All workers on this machine have exited.\n"

    assert site.workers() == []
    assert site.answers("/healthz")
    site.ask_to_end(signal.SIGTERM)


def test_without_workers_there_is_nothing_to_wait_for(site: Scratch) -> None:
    drain = site.run("work", "--drain")

    assert drain.communicate(timeout=BACK)[0] == "No worker is running on this machine.\n"
    assert drain.returncode == 0


@pytest.mark.database
def test_a_step_of_the_last_release_that_outlasts_the_upgrade_counts_and_runs_once(
    tmp_path: Path,
) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    for folder in (data, work):
        folder.mkdir(mode=0o700)
    settings = prepared(data, is_empty=True)
    code = last_release(tmp_path)
    with (
        closing(Scratch(data, settings, code=code)) as old,
        closing(Scratch(data, settings)) as new,
    ):
        old.start("work")
        old.start_run("echo ran >> ran; until [ -e go ]; do sleep 0.1; done", workspace=work)
        old.worker_of(attempt=1)

        new.start("web")  # brings the database up to date
        (work / "go").touch()

        assert eventually(lambda: statuses(new) == ["finished"], within=BACK), old.log.read_text()
        assert (work / "ran").read_text().split() == ["ran"]
        runs = new.rows("SELECT status FROM faber_runs_run")
        assert runs == [("completed",)]
