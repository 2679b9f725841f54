"""`make up` in a bare checkout, and what `make test` finds in CI."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import CHECKOUT

# Stands in for every Python: notes its words, and a new environment has it as all of its programs.
PYTHON = """\
#!/bin/sh
echo "$(basename "$0") $*" >> calls
if [ "$1 $2" = "-m venv" ]; then
    [ -e no-ensurepip ] && exit 1
    mkdir -p .venv/bin && for name in python pip faber; do cp "$0" .venv/bin/$name; done
fi
exit 0
"""
FILES = ("requirements.lock", "requirements-build.lock", "pyproject.toml")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).touch()
    shutil.copy(CHECKOUT / "Makefile", tmp_path)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def make_up(checkout: Path) -> int:
    command = ["make", "up", "PYTHON=./python"]
    return subprocess.run(command, cwd=checkout, check=False, capture_output=True).returncode


def test_the_first_time_sets_up_and_the_second_only_starts(checkout: Path) -> None:
    assert make_up(checkout) == 0
    assert make_up(checkout) == 0

    calls = (checkout / "calls").read_text()
    assert calls.count("-m venv") == 1
    assert calls.count("faber up") == 2


def test_an_environment_that_failed_half_way_is_made_anew(checkout: Path) -> None:
    """Debian's Python has no ensurepip before python3-venv is installed."""
    (checkout / "no-ensurepip").touch()
    (checkout / ".venv" / "bin").mkdir(parents=True)
    assert make_up(checkout) != 0

    (checkout / "no-ensurepip").unlink()

    assert make_up(checkout) == 0
    assert "faber up" in (checkout / "calls").read_text()


def test_the_workflow_of_ci_installs_what_only_root_would_be_given() -> None:
    """Without it the tests that need it would be skipped there, and nobody would see."""
    workflow = (CHECKOUT / ".github/workflows/ci.yml").read_text()
    for script in sorted((CHECKOUT / "tests").glob("install_*.sh")):
        fetched = re.search(r"--no-install-recommends ([a-z -]+)", script.read_text())
        assert fetched, script.name
        assert set(fetched[1].split()) <= set(workflow.split()), script.name
