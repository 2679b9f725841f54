"""Puts the stand-ins where they are looked for, and tells what they were asked."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_STAND_IN = """\
import runpy
import sys
sys.path.insert(0, {root!r})
runpy.run_module("tests.fake_agents.{name}", run_name="__main__")
"""


class FakeAgents:
    """Programs on the PATH that answer as they are told, and remember what they were asked."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.bin = home / "bin"
        self.bin.mkdir()
        for name in ("claude", "codex", "gh"):
            self.install(name, _STAND_IN.format(root=str(_ROOT), name=name))

    def install(self, name: str, source: str) -> Path:
        program = self.bin / name
        program.write_text(f"#!{sys.executable}\n{source}")
        program.chmod(0o755)
        return program

    def will_say(self, *answers: object) -> None:
        """The next answers: a skill response, other words, or what else the program prints.

        A response may have `writes`: the files that the agent changes before it answers.
        """
        (self._home / "answers.json").write_text(json.dumps(answers))

    def are_older(self) -> None:
        """Claude Code tells what each call cost, not what its whole session did."""
        (self._home / "older").touch()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Each launch, in order: `argv`, `prompt` and the session it was in."""
        log = self._home / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def forget_sessions(self) -> None:
        (self._home / "sessions.json").unlink()


@pytest.fixture
def agents(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeAgents:
    home = tmp_path_factory.mktemp("agents")
    fake = FakeAgents(home)
    monkeypatch.setenv("FAKE_AGENTS", str(home))
    monkeypatch.setenv("PATH", str(fake.bin), prepend=":")
    return fake
