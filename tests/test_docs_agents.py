"""The agents in the documentation can be started as they stand there."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.urls import resolve
from pytest_django.live_server_helper import LiveServer

from faber_site.hook.claude import Flags
from feedback.mcp.http_transport import mcp
from feedback.models import FeedbackRequest
from runs.accounts import tokens
from runs.domain.responses.results import ResultStatus
from runs.domain.values.actors import Scope
from runs.domain.workflow.definition import Step
from runs.executors import Order, Outcome, Rules, execute
from tests.commands import FABER, faber
from tests.documentation import Block, block, executed
from tests.fake_agents.programs import FakeAgents

pytestmark = pytest.mark.slow


class Nobody:
    def line(self, stream: str, text: str) -> None: ...

    def should_stop(self) -> bool:
        return False

    def hold(self) -> None:
        return None


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


SETTINGS = [block(name).text for name in ("agent-claude", "agent-codex", "agent-permission")]
COMMANDS = [
    tuple(shlex.split(text.strip().removeprefix("export FABER_AGENT_COMMAND='").removesuffix("'")))
    for text in SETTINGS
]


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
    (tmp_path / "agent.py").write_text(block("agent-script").text)

    outcome = run(tmp_path, (sys.executable, "agent.py"))

    assert outcome.result.message == "Written."
    assert str(outcome.result.details["asked"]).startswith("Execute it.\n\n## The step: build:try")
    assert outcome.result.details["key"] == "Bearer k"


ADDING = block("claude-mcp-add").text.splitlines()
CONFIGURED = [block("codex-mcp-stdio").text, block("codex-mcp-http").text]
SHARED = [block(name) for name in ("mcp-shared-stdio", "mcp-shared-http", "mcp-permission")]


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


@pytest.mark.parametrize("config", CONFIGURED, ids=["stdio", "http"])
def test_the_configuration_of_codex_is_toml(config: str) -> None:
    [server] = tomllib.loads(config)["mcp_servers"].values()

    assert server["required"] is True
    assert server.get("command", "faber") == "faber"


@pytest.mark.parametrize("shared", SHARED, ids=str)
def test_a_shared_configuration_names_what_there_is(shared: Block) -> None:
    server = json.loads(shared.text)["mcpServers"]["faber"]

    if "command" in server:
        assert [server["command"], *server["args"]] == ["faber", "mcp"]
        assert set(server["env"]) <= {"FABER_URL", "FABER_TOKEN", "FABER_RUN_ID", "FABER_DATA_DIR"}
    else:
        assert resolve(urlsplit(server["url"]).path).func is mcp
        assert server["headers"] == {"Authorization": "Bearer ${FABER_TOKEN}"}


@pytest.mark.django_db
def test_the_hook_is_installed_in_the_folder_somebody_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    executed("hook-install")

    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    assert "hook claude" in hooks["PermissionRequest"][0]["hooks"][0]["command"]


def test_the_hook_of_codex_is_a_command_of_faber() -> None:
    [group] = json.loads(block("hook-codex").text)["hooks"]["PermissionRequest"]
    [hook] = group["hooks"]
    program, name, agent, *flags = shlex.split(hook["command"])

    assert (program, name, agent) == ("faber", "hook", "codex")
    # Codex ends a hook itself at the timeout: the hook has to be done before.
    assert Flags.of(flags).wait < hook["timeout"]


@pytest.mark.django_db(transaction=True)
def test_any_client_asks_through_the_official_package(
    live_server: LiveServer, tmp_path: Path
) -> None:
    secret = tokens.create("laptop", scope=Scope.AGENT)[1]
    script = block("mcp-client").text.replace("http://127.0.0.1:8000", live_server.url)
    (tmp_path / "client.py").write_text(script.replace("faber_…", secret))
    environment = {**os.environ, "PATH": f"{FABER.parent}:{os.environ['PATH']}"}
    client = subprocess.Popen(
        [sys.executable, "client.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    )
    try:
        answer_when_asked("blue")
        told, _ = client.communicate(timeout=60)
    finally:
        client.kill()

    assert told == b"blue\n"


def answer_when_asked(response: str) -> None:
    patience = time.monotonic() + 60
    while time.monotonic() < patience:
        if asked := FeedbackRequest.objects.first():
            assert faber("answer", asked.request_id, response).code == 0
            return
        time.sleep(0.05)
    raise AssertionError("nobody asked")
