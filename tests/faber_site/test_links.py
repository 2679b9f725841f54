"""Links that commands print lead to the site that is there."""

from pathlib import Path

import pytest

from faber_site.hook import local_site
from tests.commands import environment, shell
from tests.sites import seed

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    seed(tmp_path / "data")
    local_site.keep(tmp_path / "data", local_site.ADDRESS, "http://127.0.0.1:8123")
    assert shell(tmp_path, "user", "create", "rita", "--role", "reviewer").code == 0
    return tmp_path


def test_a_link_has_the_port_the_site_was_started_on(desk: Path) -> None:
    link = shell(desk, "login-link", "rita")

    assert "http://127.0.0.1:8123/login/link/" in link.out


def test_what_somebody_sets_goes_first(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_port(folder: Path) -> dict[str, str]:
        return environment(folder) | {"FABER_PORT": "8124"}

    monkeypatch.setattr("tests.commands.environment", with_port)

    link = shell(desk, "login-link", "rita")

    assert "http://127.0.0.1:8124/login/link/" in link.out
