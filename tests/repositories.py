"""Git repositories for tests, and runs that change them."""

import subprocess
from pathlib import Path

from runs.models import Run
from runs.workspaces.git import environment
from tests import factories as f

_WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")

START = {"app.py": "def add(a, b):\n    return a + b\n", "old.txt": "kept\n" * 20}


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main")
        for path, text in START.items():
            self.write(path, text)
        self.commit("Begin")

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *_WHO, *words], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str) -> str:
        self("add", "-A")
        self("commit", "-qm", message)
        return self.head

    @property
    def head(self) -> str:
        return self("rev-parse", "HEAD")


def reviewed(repository: Repository, **fields: object) -> Run:
    """A run that waits for a review of whatever its folder holds."""
    review = f.step("look", requires_approval=True, approval_type="review")
    plan = f.workflow({"build": [review], "evaluate": [f.step("use")]})
    return f.started(plan, repository.folder, environment=environment(repository.folder), **fields)
