"""The hook as Claude Code calls it: a decision only when there is one, in its own shape."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from faber_site.hook import claude
from tests.commands import CHECKOUT

Json = dict[str, Any]

QUESTIONS = [{"question": "Which format?", "header": "F", "options": [], "multiSelect": False}]
ALLOW: Json = {"behavior": "allow", "message": "", "answers": {}, "rule": ""}
DENY: Json = {**ALLOW, "behavior": "deny", "message": "A person refused this."}
NONE: Json = {**ALLOW, "behavior": "none"}


class Site(ThreadingHTTPServer):
    """Answers calls one after the other with what the test lays out; None: nobody decided."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Calls)
        self.answers: list[Any] = []
        self.calls: list[tuple[str, Json]] = []
        self.arrived = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def wait_for(self, number: int) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.calls) >= number, timeout=30)


class Calls(BaseHTTPRequestHandler):
    server: Site

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.arrived:
            self.server.calls.append((self.path, body))
            self.server.arrived.notify_all()
        if self.path.endswith("/leave"):
            return self._send(200, b"{}")
        answer = self.server.answers.pop(0) if self.server.answers else None
        if isinstance(answer, tuple):
            return self._send(*answer)
        if answer == "cut":
            self.connection.close()
            return None
        told = {"call": 7, "request_id": "fr-1", "url": "x", "verdict": answer}
        return self._send(200 if answer else 202, json.dumps(told).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None: ...  # noqa: A002


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def hook(
    site: Site | None,
    *words: str,
    agent: str = "claude",
    event: str = "PermissionRequest",
    **said: Any,
) -> Iterator[subprocess.Popen[str]]:
    """The process, with the call on its standard input."""
    there = {"FABER_URL": site.url, "FABER_TOKEN": "faber_x"} if site else {}
    process = subprocess.Popen(
        [sys.executable, "-m", "faber_site.cli", "hook", agent, *words],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"], "FABER_DATA_DIR": "/nonexistent", **there},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    call = {"hook_event_name": event, "session_id": "s", "cwd": "/w", "tool_name": "Bash"}
    assert process.stdin
    process.stdin.write(json.dumps({**call, "tool_input": {"command": "ls"}, **said}))
    process.stdin.close()
    process.stdin = None
    with process:
        yield process
        if process.poll() is None:
            process.kill()


def decided(site: Site | None, *words: str, **said: Any) -> tuple[int, str]:
    with hook(site, *words, **said) as process:
        out, _err = process.communicate(timeout=60)
        return process.returncode, out


def shape(out: str) -> Json:
    told: Json = json.loads(out)["hookSpecificOutput"]
    return told


@pytest.mark.parametrize(
    ("event", "verdict", "told"),
    [
        ("PermissionRequest", ALLOW, {"decision": {"behavior": "allow"}}),
        (
            "PermissionRequest",
            DENY,
            {"decision": {"behavior": "deny", "message": "A person refused this."}},
        ),
        ("PreToolUse", ALLOW, {"permissionDecision": "allow"}),
        (
            "PreToolUse",
            DENY,
            {
                "permissionDecision": "deny",
                "permissionDecisionReason": "A person refused this.",
            },
        ),
        ("PreToolUse", NONE, {"permissionDecision": "ask"}),
    ],
)
def test_a_decision_has_the_shape_of_its_event(
    site: Site, event: str, verdict: Json, told: Json
) -> None:
    site.answers = [verdict]

    code, out = decided(site, event=event)

    assert (code, shape(out)) == (0, {"hookEventName": event, **told})


@pytest.mark.parametrize("event", ["PermissionRequest", "PreToolUse"])
def test_questions_come_back_with_their_answers_and_a_plan_with_itself(
    site: Site, event: str
) -> None:
    site.answers = [{**ALLOW, "answers": {"Which format?": "CSV"}}, ALLOW]
    asked = {"tool_name": "AskUserQuestion", "tool_input": {"questions": QUESTIONS}}
    plan = {"tool_name": "ExitPlanMode", "tool_input": {"plan": "# P"}}

    answered = shape(decided(site, event=event, **asked)[1])
    approved = shape(decided(site, event=event, **plan)[1])

    given = [told.get("decision", told)["updatedInput"] for told in (answered, approved)]
    assert given == [
        {"questions": QUESTIONS, "answers": {"Which format?": "CSV"}},
        {"plan": "# P"},
    ]


def test_codex_asks_in_its_own_name(site: Site) -> None:
    site.answers = [ALLOW]

    _code, out = decided(site, agent="codex")

    assert shape(out)["decision"] == {"behavior": "allow"}
    assert site.calls[0][1]["agent"] == "codex"


TROUBLE: dict[str, Any] = {
    "the token is not known": (403, b'{"error": {"code": "x", "message": "No.", "details": {}}}'),
    "the site fails": (500, b"<h1>Oh</h1>"),
    "the site is not FABER": (200, b"[]"),
    "the connection breaks": "cut",
    "the verdict is none": NONE,
    "the verdict is unknown": {"behavior": "maybe", "message": ""},
    "the verdict is empty": {"message": "ok"},
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
def test_in_trouble_claude_code_asks_by_itself(site: Site, trouble: Any) -> None:
    site.answers = [trouble, trouble]

    code, out = decided(site, "--wait", "0")
    before = decided(site, "--wait", "0", event="PreToolUse")

    assert (code, out) == (0, "")
    assert before[0] == 0
    assert shape(before[1])["permissionDecision"] == "ask"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], {}),
        (["--wait", "soon"], {}),
        (["--wait", "-1"], {}),
        (["--wait=nan"], {}),
        (["--frobnicate"], {}),
        ([], {"tool_input": "ls"}),
    ],
)
def test_without_a_site_and_with_wrong_words_it_decides_nothing(
    words: list[str], said: Json
) -> None:
    code, out = decided(None, *words, **said)

    assert (code, out) == (0, "")


def test_it_waits_through_a_restart_of_the_site(site: Site) -> None:
    site.answers = [None, "cut", (503, b""), ALLOW]

    _code, out = decided(site)

    assert shape(out)["decision"] == {"behavior": "allow"}
    assert len({body["waiter"] for _path, body in site.calls}) == 1


def test_when_nobody_decides_in_time_the_request_is_withdrawn(site: Site) -> None:
    assert decided(site, "--wait", "0.2") == (0, "")

    path, body = site.calls[-1]
    assert (path, body["withdraw"]) == ("/api/v1/tool-calls/7/leave", True)


def test_before_a_tool_the_request_stays_for_the_prompt_that_follows(site: Site) -> None:
    _code, out = decided(site, "--wait", "0", event="PreToolUse")

    assert shape(out)["permissionDecision"] == "ask"
    assert site.calls[-1][1]["withdraw"] is False


def test_an_answer_in_the_terminal_withdraws_the_request(site: Site) -> None:
    with hook(site) as process:
        site.wait_for(2)
        process.send_signal(signal.SIGTERM)
        out, _err = process.communicate(timeout=60)

    assert (process.returncode, out) == (0, "")
    assert site.calls[-1][1]["withdraw"] is True


def test_a_call_with_its_result_was_decided_in_the_terminal(site: Site, tmp_path: Path) -> None:
    file, call = tmp_path / "s.jsonl", {"type": "tool_use", "id": "a", "name": "Bash"}
    file.write_text(_line({**call, "input": {"command": "ls"}}))
    with hook(site, transcript_path=str(file)) as process:
        site.wait_for(2)
        with file.open("a") as session:
            session.write(_line({"type": "tool_result", "tool_use_id": "a"}))
        out, _err = process.communicate(timeout=60)

    assert (process.returncode, out) == (0, "")
    path, body = site.calls[-1]
    assert (path, body["withdraw"]) == ("/api/v1/tool-calls/7/leave", True)


def _line(block: Json) -> str:
    return json.dumps({"message": {"content": [block]}}) + "\n"


def test_the_end_of_claude_code_withdraws_the_request(site: Site) -> None:
    with hook(site) as process:
        site.wait_for(1)
        assert process.stdout
        process.stdout.close()
        process.stdout = None
        process.wait(timeout=60)

    assert site.calls[-1][0] == "/api/v1/tool-calls/7/leave"


def test_it_loads_neither_django_nor_anything_that_is_not_pythons_own() -> None:
    code = (
        "import sys; before = {*sys.modules}; import faber_site.hook.claude as it\n"
        "print({name.partition('.')[0] for name in {*sys.modules} - before})"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    loaded = eval(done.stdout)  # noqa: S307 (a set of names)
    assert loaded - sys.stdlib_module_names <= {"faber_site"}
    assert Path(claude.__file__).parent.name == "hook"
