"""The hook comes into Claude Code's settings and goes again; the rest stays."""

import json
from pathlib import Path
from typing import Any

import pytest

from faber_site.hook import settings_file
from faber_site.hook.settings_file import FILE, Unreadable

THEIRS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "PermissionRequest": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "say faber hook"}]}],
        "SessionStart": [],
    },
}
COMMAND = "FABER_DATA_DIR=/d /opt/faber/bin/faber hook claude --project acme/shop"


def read(folder: Path) -> Any:
    return json.loads((folder / FILE).read_text())


def write(folder: Path, text: str) -> None:
    (folder / FILE).parent.mkdir()
    (folder / FILE).write_text(text)


def test_a_folder_without_settings_gets_the_hook_alone(tmp_path: Path) -> None:
    settings_file.install(tmp_path, COMMAND, ["Bash", "Write"])

    hooks = read(tmp_path)["hooks"]
    assert [group["matcher"] for group in hooks["PermissionRequest"]] == ["*"]
    assert [group["matcher"] for group in hooks["PreToolUse"]] == ["Bash|Write"]
    assert hooks["PreToolUse"][0]["hooks"][0]["command"] == COMMAND


def test_what_was_there_is_there_afterwards_and_again_when_it_goes(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(THEIRS))

    settings_file.install(tmp_path, COMMAND, [])
    assert (
        read(tmp_path)["hooks"]["PermissionRequest"][0] == THEIRS["hooks"]["PermissionRequest"][0]
    )
    assert len(read(tmp_path)["hooks"]["PermissionRequest"]) == 2

    assert settings_file.remove(tmp_path)
    assert read(tmp_path) == THEIRS
    assert not settings_file.remove(tmp_path)


def test_a_second_installation_replaces_the_first(tmp_path: Path) -> None:
    settings_file.install(tmp_path, "faber hook claude", ["Bash"])
    settings_file.install(tmp_path, COMMAND, [])

    [group] = read(tmp_path)["hooks"]["PermissionRequest"]
    assert group["hooks"][0]["command"] == COMMAND
    assert "PreToolUse" not in read(tmp_path)["hooks"]


def test_a_file_that_held_nothing_else_goes_with_the_hook(tmp_path: Path) -> None:
    settings_file.install(tmp_path, COMMAND, [])

    settings_file.remove(tmp_path)

    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": [1]}}'])
def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)

    with pytest.raises(Unreadable):
        settings_file.install(tmp_path, COMMAND, [])

    assert (tmp_path / FILE).read_text() == text


def test_settings_that_are_a_link_stay_one(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(THEIRS))
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).symlink_to(kept)

    settings_file.install(tmp_path, COMMAND, [])

    assert (tmp_path / FILE).is_symlink()
    assert "PermissionRequest" in json.loads(kept.read_text())["hooks"]
