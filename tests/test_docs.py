"""What the documentation shows can be used as it stands."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

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

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(?:json|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(*keys: str) -> list[Any]:
    """Every fenced document that has these keys, named by its file and line."""
    return [
        pytest.param(document, id=f"{file.name}:{line}")
        for file in sorted(DOCS.glob("*.md"))
        for line, document in documents(file)
        if isinstance(document, dict) and all(key in document for key in keys)
    ]


def documents(file: Path) -> Iterator[tuple[int, object]]:
    text = file.read_text()
    for block in BLOCK.finditer(text):
        # JSON is YAML too.
        yield text.count("\n", 0, block.start()) + 1, yaml.safe_load(block[1])


def keys_in(value: object) -> Iterator[str]:
    inner: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        yield from value
        inner = list(value.values())
    for item in inner:
        yield from keys_in(item)


@pytest.mark.parametrize("document", examples("id", "phases"))
def test_every_workflow_in_the_docs_is_read_without_a_warning(document: object) -> None:
    assert read_workflow(document).warnings == ()


@pytest.mark.parametrize("document", examples("status", "message"))
def test_every_response_in_the_docs_is_valid(document: object) -> None:
    checked = check_response(document)

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
    shown = {key for _, document in documents(page) for key in keys_in(document)}

    assert set(model.model_fields) <= explained & shown
