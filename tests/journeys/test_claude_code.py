"""`faber init`, and the bundled workflow from an issue to its pull request; the examples too."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from runs.domain.workflow.merge import make_plan
from runs.models import Run
from runs.workflow_files.library import load_chain
from tests.commands import CHECKOUT, faber
from tests.documentation import commands
from tests.fake_agents.programs import FakeAgents
from tests.fake_github import TOKEN, FakeGitHub
from tests.fake_github.state import StoredPull
from tests.repositories import Repository

pytestmark = pytest.mark.django_db

EXAMPLES = CHECKOUT / "examples"
PLAN, SUMMARY = ".faber/plan.md", ".faber/summary.md"
DONE = {"status": "success", "message": "Done."}
BAD = "def add(a, b):\n    return a - b\n"
GOOD = "def add(a, b):\n    return sum((a, b))\n"
FAILS = "python3 -c 'import app; assert app.add(2, 2) == 4'"
ISSUE = 12


def writes(files: Mapping[str, str]) -> dict[str, object]:
    return {**DONE, "writes": dict(files)}


@pytest.fixture
def shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: FakeAgents, github: FakeGitHub
) -> Repository:
    """A repository with tests, an issue about it on GitHub, and a remote to push to."""
    shop = Repository(tmp_path / "shop")
    shop.write("Makefile", f"test:\n\t@{FAILS}\n")
    shop.write(".gitignore", "__pycache__\n")
    shop.commit("Test")
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "remote.git"], check=True)
    shop("remote", "add", "origin", "https://github.com/acme/shop.git")
    shop("config", f"url.{tmp_path}/remote.git.pushInsteadOf", "https://github.com/acme/shop.git")
    shop("config", "user.name", "Rita")
    shop("config", "user.email", "rita@example.org")
    github.add_issue("acme/shop", ISSUE, title="Add better", body="It should be quicker.")
    monkeypatch.setenv("FAKE_GITHUB", github.url)
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.chdir(shop.folder)
    return shop


def opened_by(run: Run, github: FakeGitHub) -> StoredPull:
    """The only pull request, of which the run knows."""
    (pull,) = github.pulls.values()
    run.refresh_from_db()
    assert run.artifacts["pr_url"] == f"https://github.test/acme/shop/pull/{pull.number}"
    assert (run.status, run.artifacts["pr_number"]) == ("completed", str(pull.number))
    return pull


def test_the_bundled_workflow_leads_from_init_to_a_pull_request(
    shop: Repository, agents: FakeAgents, github: FakeGitHub
) -> None:
    init, run, *answers = commands("readme-real-repository")
    assert [init, run] == list(commands("init"))
    begun = faber(*init, "--json").document
    assert (begun["project"], begun["test_command"], begun["missing"]) == (
        "acme/shop",
        "make test",
        [],
    )

    agents.will_say(
        writes({PLAN: "# Add with sum\n\nNo tests.\n"}),
        writes({PLAN: "# Add with sum\n\nThe tests stay.\n"}),
        writes({"app.py": BAD}),
        writes({"app.py": GOOD}),
        writes({SUMMARY: "Add with sum\n\nIt is quicker.\n"}),
    )
    codes = [faber(*words).code for words in (run, *answers)]

    assert codes == [3, 3, 3, 0]
    pull = opened_by(Run.objects.get(), github)
    assert (pull.title, pull.body) == ("Add with sum", f"It is quicker.\n\nCloses #{ISSUE}\n")
    changed = shop("show", "--format=%an: %s", "--name-only", pull.sha).splitlines()
    assert changed == ["Rita: Add with sum", "", "app.py"]  # and none of the agent's notes
    assert "It should be quicker." in (Run.objects.get().folder / ".faber/issue.md").read_text()


def test_a_rerun_from_a_later_step_finds_the_issue_and_the_tests(
    shop: Repository, agents: FakeAgents, github: FakeGitHub
) -> None:
    faber("init")
    agents.will_say(
        writes({PLAN: "# Add with sum\n"}),
        writes({"app.py": GOOD}),
        writes({SUMMARY: "Add with sum\n\nIt is quicker.\n"}),
    )
    faber("run", "claude-code", "--work-id", str(ISSUE))
    faber("resume", "latest", "approve")
    original = Run.objects.get()

    agents.will_say(
        writes({"app.py": GOOD}), writes({SUMMARY: "Add with sum again\n\nIt is quicker.\n"})
    )
    started = faber("rerun", original.run_id, "--from", "build:implement")
    finished = faber("resume", "latest", "approve")

    assert (started.code, finished.code) == (3, 0), started.err
    fork = Run.objects.exclude(pk=original.pk).get()
    assert "It should be quicker." in (fork.folder / ".faber/issue.md").read_text()
    changed = shop("show", "--format=", "--name-only", opened_by(fork, github).sha).split()
    assert changed == ["app.py"]  # and none of the agent's notes


@pytest.mark.parametrize(
    ("name", "said", "answers"),
    [
        (
            "feature",
            [
                {
                    "status": "pending_input",
                    "message": "One thing is open.",
                    "pending_input": {"reason": "It is open.", "questions": ["How quick?"]},
                },
                writes({".faber/issue.md": "Very quick.\n"}),
                writes({PLAN: "# Add with sum\n"}),
                DONE,
                writes({"app.py": GOOD}),
                writes({"README.md": "It is quick.\n"}),
                writes({SUMMARY: "Add with sum\n\nIt is quicker.\n"}),
            ],
            ["Very quick.", "approve", "approve"],
        ),
        (
            "bug-fix",
            [
                writes({".faber/reproduce.sh": "grep -q sum app.py\n"}),
                writes({PLAN: "# Slow\n"}),
                writes({"app.py": GOOD}),
                writes({SUMMARY: "Add with sum\n\nIt is quicker.\n"}),
            ],
            ["approve", "approve"],
        ),
    ],
)
def test_an_example_leads_to_a_pull_request(
    shop: Repository,
    agents: FakeAgents,
    github: FakeGitHub,
    name: str,
    said: list[object],
    answers: list[str],
) -> None:
    agents.will_say(*said)
    assert faber("run", str(EXAMPLES / f"{name}.yaml"), "--work-id", str(ISSUE)).code == 3

    codes = [faber("resume", "latest", answer).code for answer in answers]

    assert codes == [3] * (len(answers) - 1) + [0]
    opened_by(Run.objects.get(), github)


def test_a_bug_that_is_not_reproduced_stops_the_run(shop: Repository, agents: FakeAgents) -> None:
    agents.will_say(writes({".faber/reproduce.sh": "true\n"}))

    answer = faber("run", str(EXAMPLES / "bug-fix.yaml"), "--work-id", str(ISSUE))

    assert answer.code == 3
    assert "failed   architect:reproduce" in answer.err


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_example_is_read_without_a_warning(file: Path) -> None:
    chain = load_chain(str(file), workspace=None)

    assert not chain.warnings
    assert make_plan(chain.workflows).plan.workflow_id == file.stem


def test_documentation_leads_to_a_pull_request_and_one_that_is_open_is_kept(
    shop: Repository, agents: FakeAgents, github: FakeGitHub
) -> None:
    agents.will_say(
        writes({PLAN: "# A page\n"}),
        writes({"docs/a.md": "# A\n"}),
        writes({SUMMARY: "Document it\n\nA page.\n"}),
    )
    faber("run", str(EXAMPLES / "docs.yaml"), "--work-id", str(ISSUE))
    faber("resume", "latest", "approve")
    branch = Run.objects.get().artifacts["branch_name"]
    github.add_pull("acme/shop", head=branch, title="Opened before the worker died")

    assert faber("resume", "latest", "approve").code == 0

    assert opened_by(Run.objects.get(), github).title == "Opened before the worker died"
