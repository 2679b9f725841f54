"""Labels of machines: a step that needs one is executed nowhere else, and says what it needs."""

from pathlib import Path

import pytest
from pytest_django import Settings

from runs.domain.values.errors import Invalid
from runs.domain.values.status import RunStatus
from runs.models import Project
from tests import factories as f

pytestmark = pytest.mark.django_db


def test_a_label_that_no_worker_has_is_asked_about(tmp_path: Path) -> None:
    run = f.started(f.workflow({"build": [f.step("train", needs=["gpu"])]}), tmp_path)

    assert run.state is RunStatus.AWAITING_FEEDBACK
    asked = str(f.pending(run).context)
    assert "it needs a worker with gpu, and none is running" in asked
    assert "Set FABER_WORKER_LABELS" in asked


def test_a_worker_with_the_labels_of_step_and_project_executes_it(
    settings: Settings, tmp_path: Path
) -> None:
    settings.FABER_WORKER_LABELS = ("gpu", "linux")
    run = f.start(f.workflow({"build": [f.step("train", needs=["gpu"])]}), tmp_path)
    Project.objects.update(needs=["linux"])

    assert f.work(run).state is RunStatus.COMPLETED


def test_a_project_needs_labels_too(settings: Settings, tmp_path: Path) -> None:
    settings.FABER_WORKER_LABELS = ("gpu",)
    run = f.start(f.workflow({"build": [f.step("train")]}), tmp_path)
    Project.objects.update(needs=["linux"])

    assert "a worker with linux" in str(f.pending(f.work(run)).context)


@pytest.mark.parametrize("label", ["GPU", "two words", "", "-x"])
def test_a_label_is_one_plain_word(label: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="needs"):
        f.start(f.workflow({"build": [f.step("train", needs=[label])]}), tmp_path)
