"""What people say takes effect while every worker is busy with a long step."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.databases import prepared
from tests.chaos.scratch import Scratch, eventually
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.chaos, pytest.mark.database, pytest.mark.xdist_group("supervisor")]

SOON = 25
REPO = "Acme/App"
STEPS = 2
ASK = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories as f
steps = [
    {"id": "make", "run": ["true"], "requires_approval": True},
    {"id": "use", "run": ["true"]},
]
f.start(f.workflow({"build": steps}), Path(sys.argv[1]), work_id=sys.argv[2])
"""
OCCUPY = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories as f
for _ in range(int(sys.argv[2])):
    steps = [{"id": "long", "run": ["sleep", "600"]}]
    f.start(f.workflow({"build": steps}), Path(sys.argv[1]))
"""
APPROVE = """
import django
django.setup()
from tests import factories as f
from runs.models import Run
f.answer(Run.objects.get(work_id="1"), "approve")
"""


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as running:
        yield running


@pytest.fixture
def site(tmp_path: Path, github: FakeGitHub) -> Iterator[Scratch]:
    settings = {
        **prepared(tmp_path / "data"),
        **github.settings(),
        "FABER_WORKERS": str(STEPS),
        "FABER_UNDO_SECONDS": "1",
        "FABER_GITHUB_POLL_SECONDS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    with closing(Scratch(tmp_path / "data", settings)) as scratch:
        yield scratch


def asks(site: Scratch, work_id: str) -> None:
    """A run that waits for an approval."""
    site.call(ASK, str(site.folder.parent), work_id)
    assert eventually(lambda: "awaiting_feedback" in statuses(site), within=SOON)


def are_busy(site: Scratch) -> bool:
    return len([a for a in site.attempts() if a.status == "running"]) == STEPS


def occupy_all(site: Scratch) -> None:
    """Long steps for all workers that take steps, and more of them on their way."""
    site.call(OCCUPY, str(site.folder.parent), str(STEPS + 3))
    assert eventually(lambda: are_busy(site), within=SOON)


def statuses(site: Scratch) -> set[str]:
    return {status for (status,) in site.rows("SELECT status FROM faber_runs_run")}


def states_of_answers(site: Scratch) -> list[str]:
    return [state for (state,) in site.rows("SELECT state FROM faber_feedback_feedbackresponse")]


def test_an_answer_takes_effect_while_all_workers_execute_steps(site: Scratch) -> None:
    site.start("work")
    asks(site, "1")
    occupy_all(site)

    site.call(APPROVE)

    assert eventually(lambda: states_of_answers(site) == ["taken"], within=SOON)
    assert "awaiting_feedback" not in statuses(site)
    assert are_busy(site)


def test_a_command_in_a_comment_takes_effect_while_all_workers_execute_steps(
    site: Scratch, github: FakeGitHub
) -> None:
    issue = github.add_issue(REPO)
    github.grant(REPO, "rita", "write")
    site.start("work")
    asks(site, str(issue))
    occupy_all(site)

    github.comment(REPO, issue, "@faber approve", author="rita")

    assert eventually(lambda: states_of_answers(site) == ["taken"], within=SOON)
    assert eventually(
        lambda: any("faber:reply-" in each.body for each in github.comments(REPO, issue)),
        within=SOON,
    )
    assert are_busy(site)
