"""The wheel: what an index shows of it, and what it does in somebody else's repository."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
import yaml

from tests.commands import CHECKOUT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

_PATH = {"PATH": os.environ["PATH"]}
WORKFLOW = """\
id: hello
phases:
  build:
    steps:
      - id: write
        run: [touch, new.txt]
        requires_approval: true
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(CHECKOUT, tmp_path_factory.mktemp("wheel"))


def built(source: Path, folder: Path) -> Path:
    build = [
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(folder),
    ]
    subprocess.run([sys.executable, *build, source], check=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        [name] = [each for each in packed.namelist() if each.endswith("/METADATA")]
        return message_from_bytes(packed.read(name))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its own files; what it needs is in the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    install = [
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
        "--target",
        str(folder),
    ]
    subprocess.run([sys.executable, *install, wheel], check=True)
    return folder


def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FABER_", "DJANGO_"))}
    variables = kept | {"PYTHONPATH": str(installed), "XDG_DATA_HOME": str(folder.parent / "xdg")}
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=60
    )


def test_an_index_shows_no_broken_image_or_link(metadata: Message) -> None:
    shown = str(metadata.get_payload())

    assert shown.lstrip().startswith("# FABER")
    assert re.findall(r"\]\((?!https?:)", shown) == []
    assert "<!--" not in shown
    assert metadata["Author"]
    assert metadata["License-Expression"] == "MIT"
    assert "Programming Language :: Python :: 3.14" in metadata.get_all("Classifier", [])


def test_a_run_leaves_nothing_of_fabers_to_be_staged(installed: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "hello.yaml").write_text(WORKFLOW)
    run(installed, repository, "git", "init", "--quiet")
    faber = (sys.executable, "-m", "faber_site.cli")

    waiting = run(installed, repository, *faber, "run", "hello.yaml")
    done = run(installed, repository, *faber, "resume", "latest", "approve")
    run(installed, repository, "git", "add", "--all")

    assert (waiting.returncode, done.returncode) == (3, 0), waiting.stderr + done.stderr
    staged = run(installed, repository, "git", "status", "--short").stdout.split()
    assert staged == ["A", "hello.yaml", "A", "new.txt"]
    assert (tmp_path / "xdg" / "faber" / "secret_key").exists()


def test_the_notes_of_a_release_come_from_the_changelog(tmp_path: Path) -> None:
    jobs = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text())["jobs"]
    [taken] = [step for step in jobs["release"]["steps"] if "name" in step]
    (tmp_path / "CHANGELOG.md").write_bytes((CHECKOUT / "CHANGELOG.md").read_bytes())

    for tag, code in (("v0.1.0", 0), ("v9.9.9", 1)):
        command = ["bash", "-ec", taken["run"]]
        done = subprocess.run(command, cwd=tmp_path, env={"TAG": tag, **_PATH}, check=False)
        assert done.returncode == code
        notes = (tmp_path / "notes.md").read_text()
        assert notes.strip().startswith("- Runs that stop for a person") is (code == 0)


def test_an_image_is_made_of_the_same_files_and_of_nothing_else(
    wheel: Path, tmp_path: Path
) -> None:
    """What is beside them in a checkout, such as `var` with the keys, never gets into an image."""
    lines = (CHECKOUT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    sources = tmp_path / "context"
    sources.mkdir()
    for name in (rule[1:] for rule in rules if rule.startswith("!")):
        entry = CHECKOUT / name
        copy = shutil.copytree if entry.is_dir() else shutil.copy2
        copy(entry, sources / name)

    image = built(sources, tmp_path)

    assert names_in(image) == names_in(wheel)


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def test_it_brings_the_documentation(installed: Path) -> None:
    assert (installed / "faber_site" / "docs" / "tutorial.md").exists()
    assert (installed / "faber_site" / "README.md").exists()
