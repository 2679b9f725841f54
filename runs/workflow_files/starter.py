"""The workflow file that a repository begins with: a copy of a bundled one that it may change."""

import json
import re
import shlex
from pathlib import Path

from runs.domain.values.errors import Invalid, Problem, Refused
from runs.domain.workflow.placeholders import PLACEHOLDER
from runs.domain.workflow.problems import did_you_mean
from runs.workflow_files.documents import EXTENSIONS
from runs.workflow_files.library import BUNDLED, IN_WORKSPACE, known_workflows, load_chain

FIND_TESTS = "find-tests"  # the step that finds out how the tests are run
NOTES = "FABER_NOTES"  # where it writes that down; without it in the worktree

_NOT_TO_COPY = ("demo",)  # it brings a repository of its own
_STEP = re.compile(rf"^ +- id: {FIND_TESTS}\n(?: .*\n)*", re.MULTILINE)
_KNOWN = """\
      - id: {id}
        name: Note how the tests are run
        description: Writes the command of this repository's tests where later steps find it.
        run: [sh, -c, {script}]
        artifact: .faber/test.sh
        timeout: 60
"""


def can_be_copied() -> list[str]:
    return [name for name in known_workflows(None) if name not in _NOT_TO_COPY]


def finder(workflow: str) -> tuple[str, ...]:
    """The command with which a bundled workflow finds the tests; nothing where it does not."""
    chain = load_chain(f"fractary-faber:{_checked(workflow)}", workspace=None)
    steps = (step for part in chain.workflows[0].phases.values() for step in part.steps or ())
    return next((step.argv for step in steps if step.id == FIND_TESTS), ())


def write(repository: Path, workflow: str, *, test: str) -> Path:
    """Copy a bundled workflow into a repository, with its test command when one is known."""
    source = next(p for s in EXTENSIONS if (p := BUNDLED / f"{_checked(workflow)}{s}").is_file())
    folder = repository / IN_WORKSPACE
    for suffix in EXTENSIONS:
        if (folder / f"{workflow}{suffix}").exists():
            there = IN_WORKSPACE / f"{workflow}{suffix}"
            raise Refused(f"{there} already exists. Nothing was changed.")
    text = source.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / source.name
    with file.open("x") as opened:
        opened.write(_with_tests(text, test) if test else text)
    return file


def _with_tests(text: str, command: str) -> str:
    written = PLACEHOLDER.sub(lambda found: f"{{{found[0]}}}", shlex.quote(command))
    script = json.dumps(f"echo {written} > .faber/test.sh", ensure_ascii=False)
    return _STEP.sub(lambda _: _KNOWN.format(id=FIND_TESTS, script=script), text)


def _checked(workflow: str) -> str:
    if workflow not in can_be_copied():
        near = did_you_mean(workflow, can_be_copied())
        names = ", ".join(can_be_copied())
        raise Invalid([Problem("--workflow", f"choose one of {names}{near}")])
    return workflow
