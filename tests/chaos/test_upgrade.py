"""A site that an earlier version filled: its database opens, migrates, and every run goes on."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.scratch import Scratch, eventually
from tests.sites import fill_as_released

pytestmark = [pytest.mark.chaos, pytest.mark.database, pytest.mark.xdist_group("supervisor")]

BACK = 120
# What its jobs and tokens are signed with.
SECRET_KEY = "the-key-of-the-site-before"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Scratch]:
    """The data directory of the earlier version, before anything of this one was started on it."""
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "spec.md").write_text("# Spec\n- one more line")
    (tmp_path / "secret_key").write_text(SECRET_KEY)
    with closing(Scratch(tmp_path, fill_as_released(tmp_path))) as scratch:
        yield scratch


def faber(site: Scratch, *command: str) -> Any:
    asked = site.run(*command, "--json")
    printed, _ = asked.communicate(timeout=60)
    assert asked.returncode in (0, 3), (command, printed, site.log.read_text())
    return json.loads(printed)


def statuses(site: Scratch) -> dict[str, str]:
    return {run["work_id"]: run["status"] for run in faber(site, "status")["items"]}


def answered_to_the_end(site: Scratch, work_ids: set[str]) -> bool:
    """Answer what these runs ask with the first option; whether all of them have completed."""
    for request in faber(site, "pending")["items"]:
        if request["work_id"] in work_ids:
            faber(site, "answer", request["request_id"], request["options"][0]["value"])
    return {statuses(site)[work_id] for work_id in work_ids} == {"completed"}


@pytest.mark.timeout(300)
def test_every_run_of_an_earlier_version_goes_on_from_where_it_stood(site: Scratch) -> None:
    site.start("work")
    # 6 was approved and in its undo time, 8 and 9 were queued, the worker of 10 was killed. The
    # file that 6 was approved for is another by now, so it is asked about again.
    waits = dict.fromkeys(["2", "3", "5", "6", "7", "8", "9", "10"], "awaiting_feedback")

    assert eventually(
        lambda: statuses(site) == {"1": "completed", "4": "cancelled", **waits}, within=BACK
    ), site.log.read_text()
    steps = {each["work_id"]: each["step"] for each in faber(site, "pending")["items"]}
    assert steps == {
        **dict.fromkeys(["2", "6", "7", "8", "9", "10"], "write-spec"),
        "3": "merge",
        "5": "implement",
    }

    assert eventually(lambda: answered_to_the_end(site, {"3", "5", "6", "10"}), within=BACK)

    assert faber(site, "audit", "verify")["valid"] is True
    assert "not defined" not in site.log.read_text()
    assert "Traceback" not in site.log.read_text()
