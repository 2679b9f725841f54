"""An order to drain: whom it is for, and who has followed it."""

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from runs.jobs import draining
from runs.jobs.draining import Draining


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.FABER_DATA_DIR = tmp_path
    monkeypatch.setattr(draining, "_known", None)
    return tmp_path


def test_workers_that_were_there_are_asked() -> None:
    draining.heed(draining.last_order())
    assert not draining.is_asked()

    Draining()

    assert draining.is_asked()


def test_workers_that_start_after_it_are_not_asked() -> None:
    Draining()
    draining.heed(draining.last_order())

    assert not draining.is_asked()
    Draining()
    assert draining.is_asked()


def test_who_is_no_worker_is_never_asked() -> None:
    Draining()

    assert not draining.is_asked()


def test_an_order_that_was_cleared_away_asks_nobody(folder: Path) -> None:
    Draining()
    draining.heed(draining.last_order())

    (folder / "drain").unlink()

    assert not draining.is_asked()


def test_an_order_waits_for_those_who_were_there_and_for_nobody_else() -> None:
    assert Draining().left() == 0
    with draining.signed_on(draining.last_order()):
        order = Draining()
        assert order.left() == 1
        with draining.signed_on(draining.last_order()):
            assert order.left() == 1

    assert order.left() == 0


def test_who_was_killed_is_not_waited_for(folder: Path) -> None:
    script = (
        "import sys, fcntl, time; file = open(sys.argv[1], 'x'); "
        "fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"
    )
    crew = folder / "workers"
    crew.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", script, str(crew / "one")], stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout
        killed.stdout.readline()
        order = Draining()
        assert order.left() == 1
        killed.kill()

    assert order.left() == 0
    assert list(crew.iterdir()) == []
