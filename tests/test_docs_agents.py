"""The agents in the documentation can be started as they stand there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from runs.domain.responses.results import ResultStatus
from runs.domain.workflow.definition import Step
from runs.executors import Order, Outcome, Rules, execute
from tests.fake_agents.programs import FakeAgents

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs" / "agents.md").read_text()


class Nobody:
    def line(self, stream: str, text: str) -> None: ...

    def should_stop(self) -> bool:
        return False

    def hold(self) -> None:
        return None


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def run(workspace: Path, command: tuple[str, ...]) -> Outcome:
    order = Order(
        step=Step(id="try", prompt="Write it."),
        key="build:try",
        briefing={"instruction": "Execute it."},
        workspace=workspace,
        environment={},
        timeout=20,
    )
    return execute(order, Rules(agent_command=command), Nobody())


SETTING = re.compile(r"^export FABER_AGENT_COMMAND='(.*)'$", re.MULTILINE)
COMMANDS = [tuple(shlex.split(line)) for block in blocks("sh") for line in SETTING.findall(block)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_commands_that_are_shown_start_their_agents(
    agents: FakeAgents, tmp_path: Path, command: tuple[str, ...]
) -> None:
    outcome = run(tmp_path, command)

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.usage is not None
    assert outcome.usage["agent"] == command[0]
    assert agents.calls[0]["argv"][: len(command) - 1] == list(command[1:])


class Model(BaseHTTPRequestHandler):
    """Says in its answer what it was asked."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = {"asked": asked["messages"][0]["content"], "key": self.headers["Authorization"]}
        answer = {"status": "success", "message": "Written.", "details": words}
        message = {"content": f"Here you are.\n\n{json.dumps(answer)}"}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"message": message}]}).encode())

    def log_message(self, format: str, *arguments: object) -> None: ...  # noqa: A002


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with HTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("MODEL_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("MODEL_KEY", "k")
        monkeypatch.setenv("MODEL", "small")
        yield
        server.shutdown()


@pytest.mark.usefixtures("model")
def test_the_script_that_is_shown_is_an_agent(tmp_path: Path) -> None:
    script = next(block for block in blocks("python") if "sys.stdin.read()" in block)
    (tmp_path / "agent.py").write_text(script)

    outcome = run(tmp_path, (sys.executable, "agent.py"))

    assert outcome.result.message == "Written."
    assert str(outcome.result.details["asked"]).startswith("Execute it.\n\n## The step: build:try")
    assert outcome.result.details["key"] == "Bearer k"


ADDING = [line for block in blocks("sh") for line in re.findall("^claude mcp add .*$", block, re.M)]
CONFIGURED = [block for block in blocks("toml") if "[mcp_servers.faber]" in block]


def real(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: its commands in docs/agents.md were not tried")
    return found


def at_home(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "CODEX_HOME": str(folder), "TOKEN": "faber_secret"}


@pytest.mark.parametrize("line", ADDING)
def test_claude_code_takes_its_server_as_the_command_is_written(tmp_path: Path, line: str) -> None:
    real("claude")

    subprocess.run(["sh", "-ec", line], cwd=tmp_path, env=at_home(tmp_path), check=True)

    known = json.loads((tmp_path / ".claude.json").read_text())["projects"]
    [server] = [each["mcpServers"]["faber"] for each in known.values() if each.get("mcpServers")]
    if server["type"] == "http":
        assert server["headers"] == {"Authorization": "Bearer faber_secret"}
    else:
        assert (server["command"], server["args"]) == ("faber", ["mcp"])
        assert server["env"].get("FABER_TOKEN", "faber_secret") == "faber_secret"


@pytest.mark.parametrize("config", CONFIGURED, ids=["stdio", "http"])
def test_codex_reads_its_server_as_the_file_is_written(tmp_path: Path, config: str) -> None:
    real("codex")
    (tmp_path / "config.toml").write_text(config)

    listed = subprocess.run(
        ["codex", "mcp", "list", "--json"],
        env=at_home(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )

    assert [server["name"] for server in json.loads(listed.stdout)] == ["faber"]
