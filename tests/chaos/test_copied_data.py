"""Everything killed, and the data directory started somewhere else: the run knows what it knew."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.scratch import Scratch, eventually
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

BACK = 30

SPECIFY = """
git init -q -b main . && printf '# Spec\\n\\n- x\\n' > spec.md && git add spec.md &&
git -c user.name=Rita -c user.email=rita@example.org commit -q -m Specify &&
echo '{"status": "success", "message": "specified",
       "details": {"spec_path": "spec.md", "branch_name": "main"}}'
"""
# Keeps what it is told outside the repository; the first time it never ends.
SLOW = 'cat > "../$FABER_ATTEMPT.new"; mv "../$FABER_ATTEMPT.new" "../$FABER_ATTEMPT.json"'
SLOW += '; test "$FABER_ATTEMPT" != 1 || exec sleep 600'


@contextmanager
def working(folder: Path) -> Iterator[Scratch]:
    with closing(Scratch(folder, {"FABER_LEASE_SECONDS": "4"})) as scratch:
        scratch.start("work")
        yield scratch


def copy(folder: Path, place: Path) -> None:
    """As a person would: there may be sockets in it."""
    subprocess.run(["cp", "-a", str(folder), str(place)], check=True)


def told(file: Path) -> dict[str, Any]:
    assert eventually(file.exists, within=BACK)
    context: dict[str, Any] = json.loads(file.read_text())["context"]
    return context


def test_a_run_goes_on_in_a_copy_of_its_data_with_an_equal_package(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    workspace = tmp_path / "work" / "tree"
    seed(here)
    workspace.mkdir(parents=True)
    with working(here) as scratch:
        scratch.start_run(SPECIFY, SLOW, workspace=workspace)
        before = told(tmp_path / "work" / "1.json")
        scratch.close()  # kills all of it, the step too
        assert scratch.pids() == []
        copy(here, there)
        shutil.rmtree(here)

    with working(there) as scratch:
        after = told(tmp_path / "work" / "2.json")
        assert eventually(
            lambda: [a.status for a in scratch.attempts()] == ["finished", "lost", "finished"],
            within=BACK,
        )

    assert before["sources"]["spec"]["status"] == before["sources"]["branch"]["status"] == "ok"
    for name in ("metadata", "spec", "issue", "branch"):
        assert after["sources"][name]["sha256"] == before["sources"][name]["sha256"]
        assert after[name] == before[name]
    assert after["decisions"] == before["decisions"]
    assert after["resume_point"] == before["resume_point"]
    # What truly changed: the history tells of the lost attempt.
    assert (
        after["state"]["phases"]["build"]["steps"][0]
        == before["state"]["phases"]["build"]["steps"][0]
    )
    assert after["state"]["last_event_id"] > before["state"]["last_event_id"]


def test_the_same_run_makes_the_same_package_in_a_copy(tmp_path: Path) -> None:
    """Nothing happened in between, so nothing differs."""
    here, there = tmp_path / "here", tmp_path / "there"
    workspace = tmp_path / "workspace"
    seed(here)
    workspace.mkdir()
    with closing(Scratch(here)) as scratch:
        scratch.start_run(SPECIFY, workspace=workspace)
    copy(here, there)

    with closing(Scratch(here)) as one, closing(Scratch(there)) as other:
        assert _digest(one) == _digest(other)


def _digest(scratch: Scratch) -> str:
    script = (
        "from runs import context; from runs.context import store; "
        "from runs.models import Run; from runs.record import state_json; "
        "print(store.digest_of(context.reconstitute(state_json.read_for_step(Run.objects.get()))))"
    )
    return _said(scratch, "shell", "-v", "0", "-c", script)


def _said(scratch: Scratch, *command: str) -> str:
    process = scratch.run(*command)
    printed, _ = process.communicate(timeout=90)
    assert process.returncode == 0, scratch.log.read_text()
    return printed.strip()
