"""What a step puts in the place of a file keeps nobody waiting."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.engine.files import artifacts
from runs.workspaces.files import NotOrdinary, open_ordinary
from tests import factories as f
from tests.briefings import briefing_of, copying

# Without the rule, whoever opens a pipe waits for somebody to write into it.
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(30)]


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_folder(place: Path) -> None:
    place.mkdir()


def a_link_to_a_device(place: Path) -> None:
    place.symlink_to("/dev/zero")


KINDS = [a_pipe, a_folder, a_link_to_a_device]


@pytest.fixture
def a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)  # its full path may be too long for one
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("odd")
        yield tmp_path / "odd"


def making_a_pipe(**fields: object) -> f.Json:
    said = '{"status": "success", "message": "done", "details": {"spec_path": "odd"}}'
    return {"id": "make", "run": ["sh", "-c", f"mkfifo odd; echo '{said}'"], **fields}


@pytest.mark.parametrize("make", KINDS)
def test_only_an_ordinary_file_is_opened(tmp_path: Path, make: object) -> None:
    make(tmp_path / "odd")  # type: ignore[operator]

    with pytest.raises(NotOrdinary, match="is not a regular file"):
        open_ordinary(tmp_path / "odd")


def test_a_socket_is_not_opened(a_socket: Path) -> None:
    with pytest.raises(NotOrdinary):
        open_ordinary(a_socket)
    assert artifacts.read_named(a_socket.parent, "odd").note == "is not a regular file"


def test_a_file_that_is_not_there_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_ordinary(tmp_path / "odd")


@pytest.mark.parametrize("named", ["odd", "/odd", "x\0y", "x" * 5_000, "loop/x"])
def test_an_odd_artifact_is_missing(tmp_path: Path, named: str) -> None:
    os.mkfifo(tmp_path / "odd")
    (tmp_path / "loop").symlink_to("loop")

    found = artifacts.read_named(tmp_path, named)

    assert found.content is None
    assert found.note


def test_a_pipe_that_a_response_names_holds_no_worker(tmp_path: Path) -> None:
    run = f.started(f.workflow({"build": [making_a_pipe(), copying("next")]}), tmp_path)

    assert not run.revisions.exists()
    asked = f.pending(run)  # the specification is there and cannot be read
    assert "is not a regular file" in asked.prompt
    f.answered(run, "continue")
    assert briefing_of(tmp_path, "next")["context"]["spec"] is None


def test_a_pipe_that_a_step_declares_as_its_artifact_holds_no_worker(tmp_path: Path) -> None:
    step: f.Json = {"id": "make", "run": ["mkfifo", "odd"], "artifact": "odd"}

    run = f.started(f.workflow({"build": [step]}), tmp_path)

    assert run.status == "completed"
    assert not run.revisions.exists()


@pytest.mark.parametrize("kind", ["artifact", "file"])
def test_a_pipe_is_no_evidence(tmp_path: Path, kind: str) -> None:
    step: f.Json = {"id": "make", "run": ["mkfifo", "odd"], "evidence": [{kind: "odd"}]}

    run = f.started(f.workflow({"build": [step]}), tmp_path)

    assert "odd is not a file" in str(f.pending(run).context["errors"])


def test_a_pipe_that_was_there_before_holds_no_worker(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "odd")
    step: f.Json = {"id": "make", "run": ["true"], "evidence": [{"artifact": "odd"}]}

    run = f.started(f.workflow({"build": [step]}), tmp_path)

    assert "odd is not a file" in str(f.pending(run).context["errors"])


def test_a_pipe_as_the_document_of_a_hook_holds_no_worker(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "odd")
    hooks = {"pre_build": [{"type": "document", "name": "read", "path": "odd"}]}

    run = f.started(f.workflow({"build": [copying("next")]}, hooks=hooks), tmp_path)

    assert run.status == "completed"
    assert briefing_of(tmp_path, "next")["context"]["documents"] == []
