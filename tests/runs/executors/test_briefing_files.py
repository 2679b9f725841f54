"""What a killed worker leaves in the temporary folder goes; what a step reads stays."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runs.executors.briefing_files import briefing_file, remove_left

HOLDS = """
import sys, time
from runs.executors.briefing_files import briefing_file
with briefing_file(b"{}") as path:
    path.with_suffix(".mcp").touch()
    print(path, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_the_briefing_of_a_dead_worker_is_removed_with_its_door(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout
        path = Path(worker.stdout.readline().strip())
        assert (remove_left(), path.is_file()) == (0, True)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()

    assert remove_left() == 1
    assert list(folder.iterdir()) == []


def test_a_step_keeps_its_briefing_and_a_link_is_not_followed(folder: Path) -> None:
    other = folder / "precious.json"
    other.write_text("{}")
    (folder / "faber-briefing-x.json").symlink_to(other)

    with briefing_file(b'{"run_id": "x"}') as path:
        assert remove_left() == 0
        assert path.read_bytes() == b'{"run_id": "x"}'

    assert not path.exists()
    assert other.exists()
