"""The data directory: closed to everybody else, or not used at all."""

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from faber_site import data_directory
from tests.commands import shell


def test_a_new_one_is_private_and_kept_out_of_git(tmp_path: Path) -> None:
    folder = data_directory.prepared(tmp_path / "some" / "data")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o750, 0o701])
def test_one_that_others_can_enter_is_refused_with_the_command_that_closes_it(
    tmp_path: Path, mode: int
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)

    refused = shell(tmp_path, "status")

    assert refused.code == 2
    assert refused.err == (
        f"FABER_DATA_DIR='{folder}' is open to other accounts (mode {mode:04o}). "
        f"Close it: chmod 700 {folder}\n"
    )
    assert list(folder.iterdir()) == []


def test_files_of_an_earlier_version_are_closed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("not ours")
    target.chmod(0o644)
    folder = data_directory.prepared(tmp_path / "data")
    (folder / "faber.sqlite3").touch()
    (folder / "faber.sqlite3").chmod(0o644)
    (folder / "link").symlink_to(target)

    data_directory.prepared(folder)

    assert stat.S_IMODE((folder / "faber.sqlite3").stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_one_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ImproperlyConfigured, match="is not accepted; use a directory that can be"):
        data_directory.prepared(tmp_path / "file" / "data")
