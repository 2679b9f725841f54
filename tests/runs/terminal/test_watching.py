"""What a terminal shows of a run that goes on: a line for each step, and all it said."""

import contextlib
import re

import pytest
from rich.console import Console

from runs import engine
from runs.terminal.screen import ScreenView, redrawing
from runs.terminal.watching import PlainView
from runs.worker import advance
from tests import factories as f

pytestmark = pytest.mark.django_db

ERASED = "\x1b[2K"
LONG = "It went like this. " + "word " * 300 + "THE END."


def drive(message: str, view: PlainView | ScreenView) -> None:
    said = {"response": {"status": "success", "message": message}}
    run = f.start(f.workflow({"build": [f.step("make", "tests.steps:say", arguments=said)]}))
    advance.drive(engine.claim(run.pk, "worker"), view)


def plain(message: str) -> list[str]:
    lines: list[str] = []
    drive(message, PlainView(lines.append))
    return [line for line in lines if not line.startswith("  |")]


def test_a_short_message_stands_on_the_line_of_its_step() -> None:
    start, end = plain("done  well")

    assert start == "start    build:make"
    assert re.fullmatch(r"ok +build:make \S+ done well", end)


def test_a_long_message_follows_whole() -> None:
    _, end, whole = plain(LONG)

    assert end.endswith("…")
    assert whole == f"  > {LONG}"


def test_a_screen_that_is_too_narrow_for_a_message_shows_all_of_it_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drive(LONG, ScreenView())

    shown = " ".join(capsys.readouterr().err.split())
    assert LONG in shown
    assert "✓ build:make" in shown


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "COLUMNS": "30", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("screen")
def test_what_is_redrawn_is_folded_and_leaves_a_line_for_the_mark_of_ctrl_c(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with redrawing() as draw:
        draw(["x" * 40])
        drawn = capsys.readouterr().err

    assert drawn.endswith(f"{'x' * 30}\n{'x' * 10}\n")


@pytest.mark.usefixtures("screen")
def test_ctrl_c_leaves_what_was_last_drawn_on_the_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with contextlib.suppress(KeyboardInterrupt), redrawing() as draw:
        draw(["first"])
        draw(["last"])
        raise KeyboardInterrupt

    assert ERASED not in capsys.readouterr().err.rpartition("last")[2]


@pytest.mark.usefixtures("screen")
def test_what_was_redrawn_goes_when_the_watching_ends_by_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with redrawing() as draw:
        draw(["last"])

    assert ERASED in capsys.readouterr().err.rpartition("last")[2]


def test_ctrl_c_while_a_step_is_being_shown_first_is_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_console: Console, _show: bool) -> None:
        raise KeyboardInterrupt

    view = ScreenView()
    with monkeypatch.context() as patched:
        patched.setattr(Console, "show_cursor", interrupt)
        with pytest.raises(KeyboardInterrupt):
            drive("done", view)

    view.close()
