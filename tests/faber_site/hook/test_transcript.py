"""When a call was decided in the terminal, as the session's file shows it."""

import json
from pathlib import Path
from typing import Any

import pytest

from faber_site.hook import transcript
from faber_site.hook.transcript import Transcript

Json = dict[str, Any]


class Session:
    """The file that Claude Code writes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def calls(self, number: str, command: str = "ls") -> None:
        block = {"type": "tool_use", "id": number, "name": "Bash", "input": {"command": command}}
        self._write({"type": "assistant", "message": {"content": [block]}})

    def gets(self, number: str) -> None:
        block = {"type": "tool_result", "tool_use_id": number, "content": "done"}
        self._write({"type": "user", "message": {"content": [block]}})

    def says(self, words: str) -> None:
        self._write({"type": "user", "message": {"content": words}})

    def _write(self, line: Json) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "s.jsonl")


def watched(session: Session, **said: Any) -> Transcript:
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    return Transcript({**call, "transcript_path": str(session.file), **said})


def test_a_call_is_decided_when_it_has_its_result(session: Session) -> None:
    session.calls("a")
    call = watched(session)
    session.says('They say "tool_use".')
    assert not call.is_decided()

    session.gets("a")

    assert call.is_decided()


def test_equal_calls_before_and_other_calls_beside_it_do_not_count(session: Session) -> None:
    session.calls("before")
    session.gets("before")
    call = watched(session)
    session.calls("beside", "pwd")
    session.gets("beside")
    assert not call.is_decided()

    session.calls("a")

    assert not call.is_decided()


def test_of_two_equal_calls_none_counts_as_decided_before_both_are(session: Session) -> None:
    session.calls("a")
    session.calls("b")
    call = watched(session)
    session.gets("a")
    assert not call.is_decided()

    session.gets("b")

    assert call.is_decided()


def test_half_a_line_is_read_when_it_is_whole(session: Session) -> None:
    session.calls("a")
    call = watched(session)
    session.gets("a")
    whole = session.file.read_bytes()
    session.file.write_bytes(whole[:-5])
    assert not call.is_decided()

    session.file.write_bytes(whole)

    assert call.is_decided()


def test_a_subagent_has_a_file_of_its_own(session: Session, tmp_path: Path) -> None:
    own = Session(tmp_path / "s" / "subagents" / "agent-a1.jsonl")
    own.calls("a")
    call = watched(session, agent_id="a1")

    own.gets("a")

    assert call.is_decided()


def test_of_a_long_file_only_the_end_is_read(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "TAIL", 150)
    session.says("x" * 1000)
    session.calls("a")
    call = watched(session)

    session.gets("a")

    assert call.is_decided()


@pytest.mark.parametrize("path", ["", "/nonexistent/s.jsonl", "/"])
def test_without_its_file_nothing_counts_as_decided(session: Session, path: str) -> None:
    assert not watched(session, transcript_path=path).is_decided()
