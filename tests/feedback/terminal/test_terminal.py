"""`faber` as people and shells meet it: a real process, a real terminal."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import factories as f
from tests.commands import shell
from tests.sites import seed
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

REVIEWED = f.workflow(
    {
        "architect": [f.step("design-review", requires_approval=True, approval_type="review")],
        "build": [f.step("implement")],
    }
)
PROMPT = """\
🎯 FABER: Feedback Required
───────────────────────────────────────

Phase: Architect → design-review
Type: Review

Please review the result of “design-review”.

**Summary**: design-review done

Options:
  1. approve - Continue to Build phase
  2. request_changes - Provide feedback for revision
  3. reject - Cancel this workflow run

Your choice: """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    seed(tmp_path / "data")
    put(tmp_path, REVIEWED)
    return tmp_path


@pytest.fixture
def sit_down(folder: Path) -> Iterator[Callable[..., Terminal]]:
    terminals: list[Terminal] = []

    def sit(*words: str) -> Terminal:
        terminals.append(Terminal(folder, *words))
        return terminals[-1]

    yield sit
    for terminal in terminals:
        terminal.close()


def put(folder: Path, document: object) -> None:
    (folder / "small.json").write_text(json.dumps(document))


def pending(folder: Path) -> str:
    (item,) = shell(folder, "pending", "--json").document["items"]
    return str(item["request_id"])


def test_the_inline_prompt_has_the_seeds_layout_and_takes_a_number(
    sit_down: Callable[..., Terminal],
) -> None:
    terminal = sit_down("run", "small.json")

    shown = terminal.read_until("Your choice: ")
    assert shown.endswith(f"\nsmall\n{PROMPT}")
    terminal.type("maybe")
    again = terminal.read_until("Your choice: ")
    terminal.type("1")

    assert "'maybe' is not one of the options: approve, request_changes, reject." in again
    terminal.read_until("✓ build:implement")
    terminal.read_until("completed (2 of 2 steps)")
    assert terminal.exit_code() == 0


def test_requesting_changes_asks_for_words(folder: Path, sit_down: Callable[..., Terminal]) -> None:
    terminal = sit_down("run", "small.json")

    terminal.read_until("Your choice: ")
    terminal.type("request_changes")
    terminal.read_until("What should change? ")
    terminal.type("")
    terminal.read_until("Say what should change when you choose request_changes.")
    terminal.read_until("Your choice: ")
    terminal.type("2")
    terminal.read_until("What should change? ")
    terminal.type("Two layers – not three.\nReally.")
    terminal.read_until("design-review (attempt 2)")
    terminal.read_until("Your choice: ")
    terminal.type("reject")

    assert terminal.exit_code() == 5
    first, _ = shell(folder, "audit", "--json").document["items"]
    assert first["comment"] == "Two layers – not three.\nReally."


def test_a_clarification_shows_its_questions_and_takes_a_text(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    put(folder, f.workflow({"frame": [f.step("ask", "tests.steps:ask")]}))
    terminal = sit_down("run", "small.json")

    shown = terminal.read_until("Your answer: ")
    terminal.type("1. PostgreSQL")

    assert "Questions:\n  1. Which database?" in shown
    assert "  skip - Continue without an answer" in shown
    terminal.read_until("answered: 1. PostgreSQL")
    assert terminal.exit_code() == 0


def test_typed_questions_are_asked_one_by_one_until_each_answer_fits(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    put(folder, f.typed_questions())
    terminal = sit_down("run", "small.json")

    terminal.read_until("1. How many rows? (a number; required): ")
    terminal.type("many")
    terminal.read_until('It must be a number, not "many".')
    terminal.read_until("1. How many rows? (a number; required): ")
    terminal.type("")
    terminal.read_until("It needs an answer.")
    terminal.read_until("1. How many rows? (a number; required): ")
    terminal.type("12")
    terminal.read_until("2. As what? (CSV, JSON): ")
    terminal.type("2")

    terminal.read_until('{"rows": 12, "as": "JSON"}')
    assert terminal.exit_code() == 0


SPEC = f.workflow(
    {
        "architect": [
            f.step(
                "spec",
                "tests.steps:write_spec",
                artifact="specs/spec.md",
                requires_approval=True,
                approval_type="review",
            )
        ]
    }
)


def test_v_shows_the_artifact_in_the_pager_and_asks_again(
    folder: Path, sit_down: Callable[..., Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "cat")
    put(folder, SPEC)
    terminal = sit_down("run", "small.json")

    before = terminal.read_until("Your choice: ")
    terminal.type("v")
    paged = terminal.read_until("Your choice: ")
    terminal.type("1")

    assert "Type v to view the full content.\n" in before
    assert "specs/spec.md, revision 1 ─" in paged
    assert "Spec, attempt 1" in paged
    assert "# Spec, attempt 1" not in paged  # Markdown is laid out
    assert terminal.exit_code() == 0


def test_without_its_pager_everything_is_printed(
    folder: Path, sit_down: Callable[..., Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager --flag")
    put(folder, SPEC)
    terminal = sit_down("run", "small.json")

    terminal.read_until("Your choice: ")
    terminal.type("v")

    assert "specs/spec.md, revision 1" in terminal.read_until("Your choice: ")


def test_where_nothing_can_be_read_v_is_no_key(sit_down: Callable[..., Terminal]) -> None:
    terminal = sit_down("run", "small.json")

    terminal.read_until("Your choice: ")
    terminal.type("v")

    terminal.read_until("'v' is not one of the options")


def test_show_lays_markdown_out_on_a_screen_only(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    put(folder, SPEC)
    shell(folder, "run", "small.json")
    request_id = pending(folder)

    on_screen = sit_down("show", request_id)
    on_screen.exit_code()

    assert "# Spec, attempt 1" in shell(folder, "show", request_id).out
    assert "Spec, attempt 1" in on_screen.screen
    assert "# Spec, attempt 1" not in on_screen.screen


def test_watching_a_run_redraws_it_and_ends_when_it_rests(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    put(folder, f.workflow({"build": [f.step("only")]}))
    started = shell(folder, "run", "small.json", "--detach", "--json").document
    short = started["run_id"].rpartition("/")[2][:8]
    terminal = sit_down("status", short, "--watch")

    terminal.read_until("in progress")
    shell(folder, "resume", short)

    terminal.read_until("completed")
    assert terminal.exit_code() == 0


def test_ctrl_c_ends_the_watching(folder: Path, sit_down: Callable[..., Terminal]) -> None:
    shell(folder, "run", "small.json", "--detach")
    terminal = sit_down("status", "latest", "--watch")

    terminal.read_until("small")
    terminal.press_ctrl_c()

    assert terminal.exit_code() == 130


def test_an_answer_from_elsewhere_ends_the_prompt_and_the_run_goes_on(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    terminal = sit_down("run", "small.json")
    terminal.read_until("Your choice: ")
    terminal.type("half a li", enter=False)

    shell(folder, "answer", pending(folder), "approve", "--comment", "fine by me")

    terminal.read_until("answered approve (cli): fine by me")
    terminal.read_until("✓ build:implement")
    assert terminal.exit_code() == 0


def test_ctrl_c_at_the_prompt_leaves_the_run_waiting(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    terminal = sit_down("run", "small.json")
    terminal.read_until("Your choice: ")

    terminal.press_ctrl_c()

    assert terminal.exit_code() == 3
    request_id = pending(folder)
    terminal.read_until(f"faber answer {request_id} approve | request_changes | reject")
    terminal.read_until("awaiting feedback (0 of 2 steps)")
    shown = shell(folder, "show", request_id, "--json").document
    assert shown["notification_sent"]["cli"] is True


def test_ctrl_c_during_a_step_stops_it_and_it_can_be_taken_up_again(
    folder: Path, sit_down: Callable[..., Terminal]
) -> None:
    script = "echo begun; test -f ready || sleep 60.1234"
    put(folder, f.workflow({"build": [{"id": "slow", "run": ["sh", "-c", script]}]}))
    terminal = sit_down("run", "small.json")
    terminal.read_until("begun")

    terminal.press_ctrl_c()

    assert terminal.exit_code() == 130
    terminal.read_until("Step stopped. Rerun it with `faber resume")
    assert not _running("60.1234")
    (folder / "ready").touch()
    resumed = shell(folder, "resume", "latest", "--json")
    assert (resumed.code, resumed.document["status"]) == (0, "completed")
    assert "build:slow (attempt 2)" in resumed.err


def _running(word: str) -> bool:
    """Whether a process was started with this word; in a step it has another number than here."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                return True
    return False


def test_without_a_terminal_only_the_document_is_on_standard_output(folder: Path) -> None:
    answer = shell(folder, "run", "small.json", "--json", stdin="approve\n")

    assert answer.code == 3
    assert answer.document["status"] == "awaiting_feedback"
    assert "Your choice" not in answer.err
    assert answer.document["pending_request"] in answer.err
    assert "\x1b" not in answer.out + answer.err


def test_wrong_usage_is_a_2(folder: Path) -> None:
    answer = shell(folder, "status", "--bogus")

    assert (answer.code, answer.out) == (2, "")
    assert "usage: faber status" in answer.err
    assert "Traceback" not in answer.err


def test_what_nobody_expected_is_a_sentence_and_its_traceback_is_kept(folder: Path) -> None:
    database = folder / "data" / "faber.sqlite3"
    database.write_bytes(b"not a database, but long enough to be looked at" * 100)

    answer = shell(folder, "status")

    assert (answer.code, answer.out) == (1, "")
    assert "Unexpected error: " in answer.err
    assert "Traceback" not in answer.err
    assert "Traceback" in (folder / "data" / "faber.log").read_text()


def test_the_commands_are_listed_in_groups(folder: Path) -> None:
    shown = shell(folder, "--help").out

    assert shown.index("Decide:\n  pending ") < shown.index("Operate a site:\n  doctor ")
    assert all(f"\n  {name} " in shown for name in ("up", "run", "status", "login-link", "mcp"))


@pytest.mark.parametrize("command", ["up", "web", "work", "status"])
def test_a_help_page_shows_no_option_of_django(folder: Path, command: str) -> None:
    shown = shell(folder, command, "--help").out

    assert "--json" in shown
    for option in ("--settings", "--pythonpath", "--traceback", "--no-color", "--skip-checks"):
        assert option not in shown
