"""What came from outside never steers the terminal of whoever reads it."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from runs.domain.values.questions import FeedbackType
from runs.models import Run
from runs.terminal.console import as_text, steady
from tests import factories as f
from tests.commands import Answer, faber

pytestmark = pytest.mark.django_db

EVIL = "\x1b[2Jgone\x1b]0;title\x07\x9b31m\x7f\u202e"
STEERING = set("\x1b\x07\x9b\x7f\u202e\r\b")


def shown(answer: Answer) -> str:
    assert not set(answer.out + answer.err) & STEERING
    return answer.out + answer.err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    document = f.workflow({"build": [{"id": "one", "run": ["true"], EVIL: 1}]})
    path = tmp_path / "small.json"
    path.write_text(json.dumps(document))
    return path


def test_a_key_of_a_workflow_does_not(file: Path) -> None:
    for words in (["validate", str(file)], ["run", str(file)], ["validate", str(file), "--json"]):
        answer = faber(*words)

        assert answer.code == 2
        assert "unknown key" in shown(answer)


def test_the_name_of_a_file_does_not(tmp_path: Path) -> None:
    name = str(tmp_path / f"{EVIL}.json")

    for words in (["validate", name], ["run", name, "--detach"], ["import", name], ["run", EVIL]):
        assert "gone" in shown(faber(*words))


def test_the_name_of_a_run_a_request_or_an_account_does_not() -> None:
    for words in (
        ["status", EVIL],
        ["show", EVIL],
        ["answer", EVIL, "approve"],
        ["cancel", EVIL, "--reason", "x"],
        ["token", "revoke", EVIL],
        ["login-link", EVIL],
        ["batch", "show", EVIL],
    ):
        answer = faber(*words)

        assert answer.code
        assert shown(answer)


def test_what_was_answered_and_asked_does_not() -> None:
    run = f.started(f.workflow({"build": [f.step("ask", "tests.steps:ask")]}))
    run.requests.update(prompt=EVIL, context={"reason": EVIL, EVIL: EVIL}, reviewers=[EVIL])
    Run.objects.update(target=EVIL, started_by=EVIL, artifacts={EVIL: EVIL}, error=EVIL)
    assert f.pending(run).feedback_type is FeedbackType.CLARIFICATION

    for words in (
        ["pending"],
        ["show", f.pending(run).request_id],
        ["status"],
        ["status", run.run_id],
        ["events", run.run_id],
        ["context", run.run_id],
        ["audit"],
    ):
        shown(faber(*words))
        shown(faber(*words, "--json"))


def test_a_document_says_the_same_to_programs() -> None:
    document = {"a": EVIL, EVIL: ["\t\n", "é", "🎯"]}

    assert json.loads(as_text(document)) == document
    assert "é" in as_text(document)
    assert not set(as_text(document)) & STEERING


def test_only_colours_pass_and_only_on_a_screen() -> None:
    text = "\x1b[31mred\x1b[0m \x1b[2Jgone \x1b[8mhidden\x1b[0m\r\nnext\tcolumn"

    assert steady(text, colours=True) == (
        "\x1b[31mred\x1b[0m [2Jgone [8mhidden\x1b[0m\nnext\tcolumn"
    )
    assert steady(text) == "[31mred[0m [2Jgone [8mhidden[0m\nnext\tcolumn"


def test_half_an_option_is_no_option() -> None:
    with pytest.raises(CommandError, match="unrecognized arguments: --force"):
        faber("pending", "--force")
