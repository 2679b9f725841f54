"""Waiting for one's turn at a terminal: whom for, how to leave, and that it goes on by itself."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import factories as f
from tests import sites
from tests.commands import shell
from tests.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("turns")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a project that takes one run at a time, and has one."""
    folder = tmp_path_factory.mktemp("site")
    sites.seed(folder / "data")
    (folder / "small.json").write_text(json.dumps(f.five_steps()))
    place = f"workspace={folder}"
    assert shell(folder, "project", "Acme/App", "--set", "exclusive=yes", place).code == 0
    assert shell(folder, "run", "small.json", "--project", "Acme/App").code == 3
    return folder


@pytest.fixture
def folder(site: Path, tmp_path: Path) -> Path:
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    terminal = Terminal(folder, "run", "small.json", "--project", "Acme/App")
    yield terminal
    terminal.close()


def newest(folder: Path) -> tuple[str, str]:
    run = shell(folder, "status", "latest", "--json").document
    return run["run_id"].rpartition("/")[2][:8], run["status"]


def test_it_says_whom_it_waits_for_and_begins_when_that_one_ended(
    folder: Path, terminal: Terminal
) -> None:
    said = terminal.read_until("(awaiting feedback).")
    assert "The run is queued: the project allows one run at a time; running now: " in said
    holder = shell(folder, "pending", "--json").document["items"][0]["run_id"]

    assert shell(folder, "cancel", holder, "--reason", "not needed").code == 0

    terminal.read_until("Your choice: ")
    terminal.type("approve")
    assert terminal.exit_code() == 0


def test_ctrl_c_leaves_the_run_waiting(folder: Path, terminal: Terminal) -> None:
    terminal.read_until("(awaiting feedback).")

    terminal.press_ctrl_c()

    said = terminal.read_until("`.\n")
    waiting, status = newest(folder)
    assert f"The run stays queued. Follow it with `faber resume {waiting}`." in said
    assert (terminal.exit_code(), status) == (130, "pending")


def test_detached_it_is_told_and_left(folder: Path) -> None:
    answer = shell(folder, "run", "small.json", "--project", "Acme/App", "--detach")

    assert answer.code == 0
    assert "The run is queued: the project allows one run at a time" in answer.err
    waiting, status = newest(folder)
    assert status == "pending"
    assert shell(folder, "cancel", waiting, "--reason", "no").code == 0
