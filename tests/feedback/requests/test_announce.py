"""Channels plug in with one folder and one line of settings, and hear of everything in time."""

import sys
from pathlib import Path
from types import ModuleType
from uuid import uuid4

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from feedback.models import FeedbackRequest
from feedback.requests import announce, answers
from runs import engine
from runs.models import Run
from tests import factories as f

pytestmark = pytest.mark.django_db

Heard = list[tuple[str, str]]


@pytest.fixture
def channel(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of its own for each test: channels are loaded once."""
    module = ModuleType(f"channel_{uuid4().hex}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    settings.FABER_CHANNELS = (*settings.FABER_CHANNELS, module.__name__)
    return module


@pytest.fixture
def heard(channel: ModuleType) -> Heard:
    """A channel that keeps what it hears, and whether a transaction was open meanwhile."""
    kept: Heard = []

    def note(what: str, about: str) -> None:
        assert transaction.get_connection().in_atomic_block
        kept.append((what, about))

    def opened(request: FeedbackRequest) -> None:
        note("opened", request.status)

    def changed(request: FeedbackRequest) -> None:
        decision = request.decision
        note("changed", f"{request.status} {decision.state if decision else '-'}")

    def run_moved(run: Run) -> None:
        note("run_moved", run.status)

    for each in (opened, changed, run_moved):
        setattr(channel, each.__name__, each)
    channel.catch_up = lambda: kept.append(("catch_up", ""))  # type: ignore[attr-defined]
    return kept


def test_a_channel_hears_of_a_request_and_its_run_from_start_to_end(heard: Heard) -> None:
    f.answered(f.started(f.five_steps()), "approve")

    assert heard == [
        ("run_moved", "in_progress"),
        ("opened", "pending"),
        ("changed", "answered taken"),
        ("run_moved", "completed"),
    ]


def test_a_channel_hears_of_the_undo_time_and_of_its_end(heard: Heard, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 60
    run = f.started(f.five_steps())
    heard.clear()

    f.answer(run, "approve")
    answers.retract(run.requests.get().request_id, f.person())
    held = f.answer(run, "approve")
    answers.take_effect(held.pk)

    assert heard == [
        ("changed", "answered held"),
        ("changed", "pending -"),
        ("changed", "answered held"),
        ("changed", "answered taken"),
    ]


def test_a_channel_hears_that_a_request_is_withdrawn(heard: Heard) -> None:
    run = f.started(f.five_steps())
    heard.clear()

    engine.cancel(run.pk, reason="changed my mind", actor=f.STARTER)

    assert heard == [("changed", "cancelled -"), ("run_moved", "cancelled")]


def test_a_channel_hears_that_a_run_failed_and_what_became_of_it(heard: Heard) -> None:
    run = f.start(f.five_steps())
    Run.objects.update(plan={**run.plan, "title": "another"})
    heard.clear()

    engine.claim(run.pk, "worker")
    engine.cancel(run.pk, reason="nobody mends it", actor=f.STARTER)

    assert heard == [("run_moved", "failed"), ("run_moved", "cancelled")]


def test_what_a_channel_refuses_is_not_done(
    heard: Heard, channel: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.started(f.five_steps())

    def refuse(_request: FeedbackRequest) -> None:
        raise RuntimeError("the channel is broken")

    monkeypatch.setattr(channel, "changed", refuse)
    with pytest.raises(RuntimeError):
        f.answer(run, "approve")

    assert f.pending(run).responses.count() == 0


def test_the_sweep_lets_every_channel_catch_up(heard: Heard) -> None:
    announce.catch_up()

    assert heard == [("catch_up", "")]


def test_the_channel_that_the_docs_show_can_be_plugged_in(
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "extending.md").read_text()
    code = page.split("```python\n# feedback/channels/lamp/channel.py\n")[1].split("```")[0]
    (tmp_path / "lamp.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    settings.FABER_CHANNELS = (*settings.FABER_CHANNELS, "lamp")

    with django_capture_on_commit_callbacks(execute=True):
        run = f.started(f.five_steps())
    assert (tmp_path / "lamp").read_text() == "1 waiting\n"
    with django_capture_on_commit_callbacks(execute=True):
        f.answer(run, "approve")
    assert (tmp_path / "lamp").read_text() == "0 waiting\n"
    assert len(code.strip().splitlines()) <= 25
