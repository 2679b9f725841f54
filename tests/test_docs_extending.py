"""A channel and an executor can be added as the page about it says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pytest_django.fixtures import Settings

from tests import factories as f
from tests.commands import CHECKOUT
from tests.documentation import block

LAMP = "feedback.channels.lamp.channel"
# A linter over https that needs no network, and a step of the page that calls it.
WALK = """
import io, json, sys, urllib.request, yaml
from pathlib import Path
from runs.domain.workflow.parse import read_workflow
from runs.executors import Order, Rules, execute

def urlopen(call, timeout):
    assert call.full_url == "https://lint.example.org/faber", call.full_url
    step = json.loads(call.data)["step"]
    return io.BytesIO(json.dumps({"status": "success", "message": f"{step} is clean"}).encode())

urllib.request.urlopen = urlopen
read = read_workflow(yaml.safe_load(sys.stdin))
assert read.warnings == (), read.warnings
[step] = read.workflow.phases["evaluate"].steps
order = Order(
    step=step, key="evaluate:ask-the-linter", briefing={"step": step.id}, workspace=Path("."),
    environment={}, timeout=5,
)
print(execute(order, Rules(), None).result.message)
"""


def applied(diff: str, root: Path) -> None:
    """Change the files as a reader would: the shown line is found, wherever it stands by now."""
    for file, changes in re.findall(r"^\+\+\+ b/(\S+)\n(.*?)(?=^--- a/|\Z)", diff, re.M | re.S):
        text = (root / file).read_text()
        for change in re.split(r"^@@.*\n", changes, flags=re.M)[1:]:
            rows = change.splitlines(keepends=True)
            before = "".join(row[1:] for row in rows if row[0] in " -")
            after = "".join(row[1:] for row in rows if row[0] in " +")
            assert text.count(before) == 1, f"{file} has other lines than the page: {before}"
            text = text.replace(before, after)
        (root / file).write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The code that the page changes, to be changed."""
    for app in ("runs", "faber_site"):
        ignored = shutil.ignore_patterns("__pycache__", "migrations", "workflow_files")
        shutil.copytree(CHECKOUT / app, tmp_path / app, ignore=ignored)
    return tmp_path


@pytest.mark.slow
def test_an_executor_is_a_module_and_three_lines(tree: Path) -> None:
    (tree / "runs" / "executors" / "http.py").write_text(block("new-executor").text)
    applied(block("new-executor-diff").text, tree)
    document = block("new-executor-workflow").text

    done = subprocess.run(
        [sys.executable, "-c", WALK],
        cwd=tree,
        input=document,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "ask-the-linter is clean\n", done.stderr


def test_the_setting_of_a_channel_is_one_line(tree: Path) -> None:
    applied(block("new-channel-setting").text, tree)

    assert f'"{LAMP}"' in (tree / "faber_site" / "settings.py").read_text()


@pytest.mark.django_db(transaction=True)
def test_a_channel_is_a_module_with_four_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    lamp = ModuleType(LAMP)
    exec(block("new-channel").text, vars(lamp))  # noqa: S102  it is the page's own
    monkeypatch.setitem(sys.modules, LAMP, lamp)
    monkeypatch.chdir(tmp_path)
    settings.FABER_CHANNELS = (*settings.FABER_CHANNELS, LAMP)

    run = f.started(f.five_steps())
    assert (tmp_path / "lamp").read_text() == "1 waiting\n"
    f.answered(run, "approve")
    assert (tmp_path / "lamp").read_text() == "0 waiting\n"
