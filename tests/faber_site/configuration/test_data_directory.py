"""The data directory: closed to everybody else, or not used at all."""

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from faber_site.configuration import data_directory, data_place
from tests.commands import shell


def test_a_new_one_is_private_and_kept_out_of_git(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "data"

    data_directory.make(folder)
    data_directory.checked(folder)

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
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "faber.sqlite3").touch()
    (folder / "faber.sqlite3").chmod(0o644)
    (folder / "link").symlink_to(target)

    data_directory.checked(folder)

    assert stat.S_IMODE((folder / "faber.sqlite3").stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_one_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ImproperlyConfigured, match="is not accepted; use a directory that can be"):
        data_directory.make(tmp_path / "file" / "data")


@pytest.mark.parametrize(
    "words", ["status", "pending", "token create ci --scope agent", "login-link rita", "doctor"]
)
def test_a_command_that_finds_no_site_makes_none(tmp_path: Path, words: str) -> None:
    refused = shell(tmp_path, *words.split())

    assert refused.code == 6
    assert refused.err == (
        f"There is no FABER site in {tmp_path}/data/faber.sqlite3. Start one with `faber up`, "
        "or set FABER_DATA_DIR or FABER_DATABASE_URL to an existing one.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_empty_directory_is_no_site(tmp_path: Path) -> None:
    data_directory.make(tmp_path / "data")

    assert shell(tmp_path, "pending").code == 6
    assert not (tmp_path / "data" / "faber.sqlite3").exists()


def test_what_needs_no_site_works_without_one(tmp_path: Path) -> None:
    rendered = shell(tmp_path, "render", stdin="*text*")
    checked = shell(tmp_path, "validate", "demo")

    assert (rendered.code, checked.code) == (0, 0)
    assert "<em>text</em>" in rendered.out
    assert list(tmp_path.iterdir()) == []


def test_an_installed_program_keeps_its_data_where_programs_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FABER_DATA_DIR", raising=False)
    monkeypatch.setattr(data_place, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))

    assert data_place.place() == tmp_path / "share" / "faber"

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_place.place() == tmp_path / "home" / ".local" / "share" / "faber"
