"""`faber init` in a repository: what it writes, what it finds out, what it says is missing."""

from pathlib import Path

import pytest

from runs.models import Project
from runs.workflow_files.library import load_chain
from tests.commands import faber
from tests.fake_agents.programs import FakeAgents
from tests.repositories import Repository

pytestmark = pytest.mark.django_db

FILE = Path(".fractary/faber/workflows/claude-code.yaml")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    shop = Repository(tmp_path / "shop")
    monkeypatch.chdir(shop.folder)
    return shop


def test_a_repository_gets_a_workflow_and_a_project(shop: Repository) -> None:
    shop.write("package-lock.json", "{}")

    answer = faber("init")

    assert answer.code == 0
    assert answer.lines[:3] == [
        f"Wrote {FILE}",
        "Project: local/shop",
        "Tests: npm ci && npm test",
    ]
    assert "faber run claude-code --work-id ISSUE" in answer.out
    assert Project.objects.get().is_at(shop.folder)
    note = "echo 'npm ci && npm test' > .faber/test.sh"
    chain = load_chain("claude-code", workspace=shop.folder)
    steps = [step for part in chain.workflows[0].phases.values() for step in part.steps or ()]
    assert (chain.path, [s.argv[-1] for s in steps if s.id == "find-tests"]) == (
        shop.folder / FILE,
        [note],
    )
    assert shop("status", "--short", "--untracked-files=all").splitlines()[0] == f"?? {FILE}"


def test_from_a_folder_inside_the_repository_is_meant(
    shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("sub/file", "")
    monkeypatch.chdir(shop.folder / "sub")

    faber("init")

    assert (shop.folder / FILE).is_file()


def test_what_is_there_is_not_overwritten(shop: Repository) -> None:
    shop.write(str(FILE.with_suffix(".json")), "{}")

    answer = faber("init")

    assert (answer.code, answer.err.strip()) == (
        7,
        f"{FILE.with_suffix('.json')} already exists. Nothing was changed.",
    )
    assert not (shop.folder / FILE).exists()
    assert not Project.objects.exists()


def test_a_known_project_keeps_its_settings(shop: Repository) -> None:
    Project.objects.create(name="Acme/App", workspace=str(shop.folder), agent="codex")

    assert faber("init", "--json").document["project"] == "Acme/App"

    assert Project.objects.get().agent == "codex"


def test_a_command_for_the_tests_may_be_given(shop: Repository) -> None:
    answer = faber("init", "--test", "./check 'a b' {target} \"$HOME\"", "--json")

    assert answer.document["test_command"] == "./check 'a b' {target} \"$HOME\""
    chain = load_chain("claude-code", workspace=shop.folder)  # it is no placeholder
    assert "{{target}}" in (shop.folder / FILE).read_text()
    assert not chain.warnings


def test_what_is_missing_is_listed(
    shop: Repository, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    (agents.bin / "claude").unlink()
    monkeypatch.setenv("PATH", f"{agents.bin}:/usr/bin:/bin")

    missing = "\n".join(faber("init", "--json").document["missing"])

    for sentence in (
        "No tests found. Name their command with `faber init --test COMMAND`.",
        "git does not know who commits.",
        "The repository has no remote named origin.",
        "`gh` is not signed in. Run `gh auth login`.",
        "Agent `claude` is not installed.",
    ):
        assert sentence in missing


@pytest.mark.parametrize("name", ["demo", "claud-code"])
def test_only_a_workflow_that_can_be_copied_is_taken(shop: Repository, name: str) -> None:
    answer = faber("init", "--workflow", name)

    assert answer.code == 2
    assert "--workflow: choose one of claude-code, core, default" in answer.err


def test_another_bundled_workflow_is_copied_as_it_is(shop: Repository) -> None:
    answer = faber("init", "--workflow", "default", "--json").document

    assert answer["test_command"] is None
    assert load_chain("default", workspace=shop.folder).path == Path(answer["file"])


def test_without_git_nothing_is_written(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shop.folder))

    answer = faber("init")

    assert (answer.code, answer.err) == (2, "git is not installed. Install it, then try again\n")
    assert not (shop.folder / FILE).exists()


def test_outside_a_repository_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    answer = faber("init")

    assert answer.code == 2
    assert "is not in a git repository; create one with `git init`" in answer.err
    assert not list(tmp_path.iterdir())
