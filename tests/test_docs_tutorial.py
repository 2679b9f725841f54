"""The tutorial, block by block, in a shell; only the network and the agent are stand-ins."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import FABER, environment
from tests.documentation import block
from tests.fake_agents.programs import FakeAgents
from tests.repositories import Repository

pytestmark = pytest.mark.slow

PUBLIC = "https://github.com/pypa/sampleproject"
BEFORE = "def add_one(number):\n    return number + 1\n"
AFTER = "def add_one(number, step=1):\n    return number + step\n"
TEST = """\
import unittest

from sample.simple import add_one


class TestSimple(unittest.TestCase):
    def test_add_one(self):
        self.assertEqual(add_one(5), 6)
"""
STEP_TEST = """
    def test_step(self):
        self.assertEqual(add_one(5, step=2), 7)
"""


class Reader:
    """Somebody with a terminal who types what stands there."""

    def __init__(self, folder: Path, settings: Path) -> None:
        self.folder = folder
        self._environment = environment(folder) | {
            "FABER_DATA_DIR": str(folder.parent / "data"),
            "GIT_CONFIG_GLOBAL": str(settings),
        }

    def types(self, name: str, *, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-c", block(name).text],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=100,
        )
        assert done.returncode == code, f"{name}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture
def reader(tmp_path: Path, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """The public repository is a small one like it, at the same address."""
    monkeypatch.setenv("PATH", str(FABER.parent), prepend=":")
    monkeypatch.setenv("PATH", str(agents.bin), prepend=":")
    agents.install("python3", f"import os, sys; os.execv({sys.executable!r}, sys.argv)")
    public = Repository(tmp_path / "public")
    public.write("src/sample/simple.py", BEFORE)
    public.write("src/sample/__init__.py", "")
    public.write("tests/__init__.py", "")
    public.write("tests/test_simple.py", TEST)
    public.write(".gitignore", "__pycache__/\n")
    public.commit("One")
    (tmp_path / "gitconfig").write_text(
        "[user]\nname = Rita\nemail = rita@example.org\n"
        f'[url "file://{tmp_path}/public"]\ninsteadOf = {PUBLIC}\n'
    )
    (tmp_path / "desk").mkdir()
    return Reader(tmp_path / "desk", tmp_path / "gitconfig")


def said(message: str, **writes: str) -> dict[str, object]:
    return {"status": "success", "message": message, "writes": writes}


def test_a_reader_gets_from_the_clone_to_an_approved_commit(
    reader: Reader, agents: FakeAgents
) -> None:
    agents.will_say(
        said("Planned.", **{".faber/plan.md": "# A step for add_one\n"}),
        said("Planned again.", **{".faber/plan.md": "# A step for add_one\n\nTest: test_step\n"}),
        said(
            "Implemented.",
            **{"src/sample/simple.py": AFTER, "tests/test_simple.py": TEST + STEP_TEST},
        ),
        said("Described.", **{".faber/summary.md": "Let callers choose the step\n\nAs planned.\n"}),
    )

    assert "Wrote .fractary/faber/workflows/claude-code.yaml" in reader.types("tutorial-set-up")
    reader.folder /= "sampleproject"
    workflow = reader.folder / ".fractary/faber/workflows/tutorial.yaml"
    workflow.write_text(block("tutorial-workflow").text)
    assert reader.types("tutorial-validate").startswith("valid")
    assert "Is this the right plan?" in reader.types("tutorial-run", code=3)
    assert "Is this the right plan?" in reader.types("tutorial-changes", code=3)
    assert "ready for a pull request?" in reader.types("tutorial-approve", code=3)
    assert "+    return number + step" in reader.types("tutorial-diff")
    after = reader.types("tutorial-after")

    assert "completed" in after
    assert "The record is intact." in after
    assert "Let callers choose the step" in after
    staged = ["git", "status", "--porcelain"]
    assert subprocess.check_output(staged, cwd=reader.folder) == b""
