"""Whom files are for: FABER's own for itself, all others as the user's umask says."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.isolation import file_modes


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that was started with the umask of most people."""
    monkeypatch.setattr(file_modes, "_usual", -1)
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of_new(file: Path) -> int:
    file.write_text("new")
    return stat.S_IMODE(file.stat().st_mode)


def test_files_are_private_except_where_they_are_not_ours(tmp_path: Path) -> None:
    file_modes.keep_private()
    file_modes.keep_private()  # as when the settings are read twice

    assert mode_of_new(tmp_path / "own") == 0o600
    with file_modes.as_usual():
        assert mode_of_new(tmp_path / "theirs") == 0o644
    assert mode_of_new(tmp_path / "own again") == 0o600
    assert file_modes.usual_umask() == 0o022


def test_a_process_that_keeps_nothing_private_changes_nothing(tmp_path: Path) -> None:
    with file_modes.as_usual():
        assert mode_of_new(tmp_path / "file") == 0o644
    assert file_modes.usual_umask() == -1
