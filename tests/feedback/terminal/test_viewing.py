"""At the prompt, `v` shows what is decided on before anybody answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from feedback.terminal import card, prompt, viewing
from feedback.terminal.session import Attendant
from runs.domain.values.actors import Actor
from runs.terminal import pager
from tests import factories as f
from tests.fake_agents.programs import FakeAgents
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db


class Typing:
    """A keyboard on which these lines are typed."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def forget(self) -> None: ...

    def line(self, _is_over: Callable[[], bool]) -> str:
        return self._lines.pop(0)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pages: list[str] = []
    monkeypatch.setattr(pager, "show", lambda text, on: pages.append(text))
    monkeypatch.setattr(prompt, "Keyboard", lambda: Typing("v", "approve"))
    return pages


def prompter(actor: Actor) -> prompt.Prompter:
    attendant = Attendant(actor, lambda _: None, prompts=False)
    return prompt.Prompter(
        lambda asked, answer, _: f.answer(asked.run, str(answer)), attendant.inquire
    )


def test_a_question_mark_asks_the_agent_and_the_choice_is_still_to_come(
    tmp_path: Path,
    agents: FakeAgents,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    agents.will_say({"status": "success", "message": "Planned."}, "Nobody filters by it.")
    step: f.Json = {"id": "plan", "prompt": "Plan it.", "requires_approval": True}
    request = f.pending(f.started(f.workflow({"architect": [step]}), tmp_path))
    monkeypatch.setattr(prompt, "Keyboard", lambda: Typing("? Why no index?", "approve"))

    prompter(f.person()).ask(request)

    told = capsys.readouterr().err
    assert "Type ? and a question to ask the agent first." in told
    assert "Nobody filters by it." in told
    assert told.count("Your choice: ") == 2
    assert "Why no index?" in agents.calls[-1]["prompt"]
    decision = f.fresh(request.run).requests.get().decision
    assert decision
    assert decision.response == "approve"


def test_v_shows_the_changes_and_asks_again(
    tmp_path: Path, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    repository = Repository(tmp_path / "app")
    repository.write("app.py", "print('\x1b[31mred')\n")
    request = f.pending(reviewed(repository))

    prompter(f.person()).ask(request)

    (page,) = shown
    assert " app.py | 3 +--" in page
    assert "\x1b[32m+print('[31mred')\x1b[0m" in page
    told = capsys.readouterr().err
    assert told.count("Your choice: ") == 2
    assert "Type v to view the full content." in told
    assert f.fresh(request.run).requests.get().decision


def test_code_that_did_not_change_is_not_counted(tmp_path: Path, shown: list[str]) -> None:
    request = f.pending(reviewed(Repository(tmp_path / "app")))
    assert request.snapshot

    viewing.page(request)

    assert "changed" not in shown[0]


def test_where_there_is_nothing_to_see_v_is_not_offered(tmp_path: Path) -> None:
    request = f.pending(f.started(f.five_steps(), tmp_path))

    assert not viewing.is_there(request)


def test_a_document_is_shown_as_well(tmp_path: Path, shown: list[str]) -> None:
    viewing.page(f.reviewed_list(tmp_path))

    assert "list.md, revision 1" in shown[0]


def test_of_an_image_only_its_size_is_shown(tmp_path: Path, shown: list[str]) -> None:
    request = f.reviewed_list(tmp_path)
    request.artifacts.update(content=b"\x89PNG\0" * 20)

    viewing.page(request)

    assert "Binary file, 100 B" in shown[0]
    assert "PNG" not in shown[0]
    assert "Binary file, 100 B" in card.whole(request)
