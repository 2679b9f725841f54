"""`faber hook`: put into a folder's settings, connected to the site, taken out again."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from faber_site.hook import local_site
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from runs.models import AuditEntry
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.FABER_DATA_DIR = tmp_path / "data"
    settings.FABER_DATA_DIR.mkdir()
    for name in ("FABER_URL", "FABER_TOKEN", "FABER_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"


def test_it_is_installed_with_a_token_of_an_agent_and_removed(tmp_path: Path, data: Path) -> None:
    done = faber("hook", "install", "--dir", str(tmp_path), "--tool", "Bash,Write", "--json")

    assert done.code == 0
    assert done.document["tools"] == ["Bash", "Write"]
    kept = data / local_site.TOKEN
    token = tokens.find(kept.read_text().strip())
    assert token is not None
    assert token.scope == Scope.AGENT
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert AuditEntry.objects.filter(kind="rule", what__contains=token.name).exists()
    settings = (tmp_path / ".claude" / "settings.json").read_text()
    assert kept.read_text().strip() not in settings
    command = json.loads(settings)["hooks"]["PermissionRequest"][0]["hooks"][0]["command"]
    assert command.endswith("faber hook claude")

    assert faber("hook", "remove", "--dir", str(tmp_path)).code == 0
    assert not (tmp_path / ".claude" / "settings.json").exists()


def test_a_second_installation_keeps_the_token(tmp_path: Path, data: Path) -> None:
    faber("hook", "install", "--dir", str(tmp_path))
    before = (data / local_site.TOKEN).read_text()

    faber("hook", "install", "--dir", str(tmp_path))

    assert (data / local_site.TOKEN).read_text() == before


def test_auto_mode_is_named_where_no_tool_is(tmp_path: Path) -> None:
    install = ("hook", "install", "--dir", str(tmp_path))

    assert "auto mode" in faber(*install).out
    assert "auto mode" not in faber(*install, "--tool", "Bash").out


def test_for_another_site_no_token_is_made(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABER_URL", "https://faber.example.org")

    assert faber("hook", "install", "--dir", str(tmp_path)).code == 0

    assert list(data.iterdir()) == []


def test_settings_that_cannot_be_read_are_left_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{")

    done = faber("hook", "install", "--dir", str(tmp_path))

    assert done.code == 2
    assert "was left as it is" in done.err
    assert faber("hook", "install", "--dir", str(tmp_path / "none")).code == 2
