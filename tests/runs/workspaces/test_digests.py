"""Hashes of files: read once, and again whenever the file may be another."""

import hashlib
import os
from pathlib import Path
from typing import Self

import pytest

from runs.workspaces import digests
from runs.workspaces.files import NotOrdinary, open_ordinary

LONG_AGO = (1_000_000_000, 1_000_000_000)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_text("one")
    return file


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were read at each look."""
    read: list[int] = []

    class Counting:
        def __init__(self, file: Path) -> None:
            self._file = open_ordinary(file)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def fileno(self) -> int:
            return self._file.fileno()

        def read(self, most: int) -> bytes:
            content = self._file.read(most)
            read.append(len(content))
            return content

    monkeypatch.setattr(digests, "open_ordinary", Counting)
    return read


def test_a_file_that_rests_is_read_once(
    file: Path, opened: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "_SETTLED_NS", -1)

    assert {digests.sha256_of(file, most=10) for _ in range(3)} == {sha256("one")}

    assert opened == [3]


def test_a_file_that_was_just_written_is_read_again(file: Path, opened: list[int]) -> None:
    digests.sha256_of(file, most=10)
    file.write_text("two")

    assert digests.sha256_of(file, most=10) == sha256("two")
    assert opened == [3, 3]


def test_a_change_that_hides_its_time_is_seen(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_SETTLED_NS", -1)
    os.utime(file, LONG_AGO)
    digests.sha256_of(file, most=10)
    file.write_text("two")
    os.utime(file, LONG_AGO)

    assert digests.sha256_of(file, most=10) == sha256("two")


def test_a_file_that_is_too_large_has_no_hash(file: Path) -> None:
    with pytest.raises(digests.FileTooLarge, match="is larger than 2 bytes"):
        digests.sha256_of(file, most=2)


def test_a_pipe_has_no_hash_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotOrdinary):
        digests.sha256_of(tmp_path / "pipe", most=10)
