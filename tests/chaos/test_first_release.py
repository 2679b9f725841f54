"""What the first release asked is answered after the upgrade."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chaos.databases import prepared
from tests.chaos.releases import last_release
from tests.chaos.scratch import Scratch

pytestmark = [pytest.mark.chaos, pytest.mark.database, pytest.mark.xdist_group("supervisor")]

ASKS = (
    '{"status": "pending_input", "message": "One thing.",'
    ' "pending_input": {"reason": "It is open.", "questions": ["Which?"]}}'
)
TWICE = '[ -e answered ] || { touch answered; echo "$0"; exit 0; }; cat "$FABER_BRIEFING" > told'
FAILS = "[ -e tried ] || { touch tried; exit 1; }"


def gate(**fields: Any) -> dict[str, Any]:
    return {"id": "asks", "run": ["true"], "requires_approval": True, **fields}


# What asks, and an answer to it.
OPEN = {
    "review": (gate(approval_type="review"), "approve"),
    "selection": (gate(approval_type="selection", options=["blue", "red"]), "red"),
    "error_resolution": ({"id": "asks", "run": ["sh", "-c", FAILS]}, "retry"),
    "clarification": ({"id": "asks", "run": ["sh", "-c", TWICE, ASKS]}, "the second"),
}


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[Scratch, Scratch]]:
    """The first release and this one, on one data directory."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    settings = prepared(data, is_empty=True)
    with (
        closing(Scratch(data, settings, code=last_release(tmp_path))) as old,
        closing(Scratch(data, settings)) as new,
    ):
        yield old, new


def said(site: Scratch, *command: str, code: int = 0) -> str:
    process = site.run(*command)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code, f"{command}: {out}{site.log.read_text()}"
    return out


def started(old: Scratch, folder: Path, kind: str, step: dict[str, Any]) -> None:
    work = folder / kind
    work.mkdir()
    then = {"id": "then", "run": ["touch", "went-on"]}
    plan = {"id": kind.replace("_", "-"), "phases": {"build": {"steps": [step, then]}}}
    (work / "workflow.yaml").write_text(yaml.safe_dump(plan))
    file, project = str(work / "workflow.yaml"), ("--project", "acme/old")
    said(old, "run", file, "--workspace", str(work), *project, code=3)


def test_requests_of_the_first_release_are_answered_after_the_upgrade(
    sites: tuple[Scratch, Scratch], tmp_path: Path
) -> None:
    old, new = sites
    for kind, (step, _) in OPEN.items():
        started(old, tmp_path, kind, step)

    new.start("web")  # brings the database up to date
    waiting = new.rows(
        "SELECT f.type, r.run_id FROM faber_feedback_feedbackrequest f"
        " JOIN faber_runs_run r ON r.id = f.run_id WHERE f.status = 'pending'"
    )
    asked = {each[0]: each[1] for each in waiting}
    assert set(asked) == set(OPEN)
    for kind, (_, answer) in OPEN.items():
        said(new, "resume", asked[kind], answer)

    assert [kind for kind in OPEN if not (tmp_path / kind / "went-on").exists()] == []
    assert "the second" in (tmp_path / "clarification" / "told").read_text()
    assert new.rows("SELECT DISTINCT status FROM faber_runs_run") == [("completed",)]
    assert said(new, "audit", "verify") == "The record is intact.\n"
