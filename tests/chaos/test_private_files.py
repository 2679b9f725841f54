"""What a running site leaves for others to read: no file of its own, and no way in."""

import signal
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.scratch import Scratch, eventually
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """A site that was started once before."""
    folder = tmp_path_factory.mktemp("private") / "data"
    with closing(Scratch(seed(folder))) as scratch:
        _ready, sign_in = scratch.start("up")
        assert "/login/link/" in sign_in
        scratch.ask_to_end(signal.SIGTERM)
        yield scratch


def test_every_start_prints_a_link_and_logs_none(site: Scratch) -> None:
    _ready, sign_in = site.start("up")

    assert sign_in.startswith(f"Sign in: http://127.0.0.1:{site.port}/login/link/")
    site.ask_to_end(signal.SIGTERM)
    assert "/login/link/" not in site.log.read_text()


def test_files_of_the_site_are_private_and_those_of_a_step_as_its_user_wants(
    site: Scratch, tmp_path: Path
) -> None:
    site.start("work")
    site.start_run("mkdir folder; echo made > folder/file", workspace=tmp_path)
    made = tmp_path / "folder" / "file"
    assert eventually(lambda: made.exists() and made.read_text(), within=30)
    site.ask_to_end(signal.SIGTERM)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in site.folder.iterdir()}
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    assert {"faber.sqlite3", "secret_key", ".gitignore"} <= set(modes)
    assert stat.S_IMODE(made.stat().st_mode) == 0o644
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o755
