"""What the documentation shows can be used as it stands."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from runs.domain.responses.results import check_response
from runs.domain.workflow.definition import (
    Autonomy,
    Hook,
    Limits,
    ResultHandling,
    Step,
    StepOption,
    Value,
    Workflow,
    WorkflowPhase,
)
from runs.domain.workflow.parse import read_workflow
from runs.rendering import render
from tests.documentation import DOCS, PAGES, ROOT, Block, blocks

# Drawings, and what programs print: there is nothing to execute.
PICTURES = ("text", "mermaid")
WORKFLOWS = [block for block in blocks() if block.has("id", "phases") and not block.name]
RESPONSES = [block for block in blocks() if block.has("status", "message")]


@cache
def asked_for() -> str:
    """The source of every test, in which the names of blocks are written."""
    return "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def keys_in(value: object) -> Iterator[str]:
    inner: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        yield from value
        inner = list(value.values())
    for item in inner:
        yield from keys_in(item)


def is_checked(block: Block) -> bool:
    if block.name:
        return f'"{block.name}"' in asked_for()
    if block.not_run:
        return len(block.not_run.split()) > 2
    return block.language in PICTURES or block in WORKFLOWS or block in RESPONSES


def test_every_block_is_tested_or_says_why_not() -> None:
    unchecked = [str(block) for block in blocks() if not is_checked(block)]

    assert unchecked == [], "name it for a test, or say why not: see tests/documentation.py"


def test_no_two_blocks_have_the_same_name() -> None:
    names = [block.name for block in blocks() if block.name]

    assert len(names) == len(set(names))


def test_every_fence_is_found() -> None:
    for page in {block.page for block in blocks()}:
        fences = re.findall(r"^ *```", page.read_text(), re.MULTILINE)
        assert len(fences) == 2 * sum(block.page == page for block in blocks()), page


@pytest.mark.parametrize("block", WORKFLOWS, ids=str)
def test_every_workflow_in_the_docs_is_read_without_a_warning(block: Block) -> None:
    assert read_workflow(block.document).warnings == ()


@pytest.mark.parametrize("block", RESPONSES, ids=str)
def test_every_response_in_the_docs_is_valid(block: Block) -> None:
    checked = check_response(block.document)

    assert checked.errors == ()
    assert checked.warnings == ()


@pytest.mark.parametrize(
    "model",
    [Workflow, WorkflowPhase, Step, StepOption, ResultHandling, Autonomy, Limits, Hook],
    ids=lambda model: model.__name__,
)
def test_every_key_of_a_workflow_is_explained_and_shown(model: type[Value]) -> None:
    page = DOCS / "workflows.md"
    explained = set(re.findall(r"`(\w+)", page.read_text()))
    shown = {key for block in blocks() if block.page == page for key in keys_in(block.document)}

    assert set(model.model_fields) <= explained & shown


LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@cache
def anchors_of(page: Path) -> set[str]:
    return {entry.anchor.removeprefix("user-content-") for entry in render(page.read_text()).toc}


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_every_link_leads_somewhere(file: Path) -> None:
    broken = []
    for name, anchor in LINK.findall(CODE.sub("", file.read_text())):
        target = (file.parent / name).resolve() if name else file
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(f"{name}#{anchor}")

    assert broken == []
