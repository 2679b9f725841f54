"""Inside a step `faber` decides nothing; inside the isolation it reaches nothing but people."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from runs.isolation import inside
from tests import sites
from tests.commands import FABER, Answer, environment, shell
from tests.isolation import need_isolation

pytestmark = pytest.mark.slow

REFUSED = (
    *("answer fr-1 approve", "resume latest approve", "cancel latest --reason x"),
    *("token create mine --scope operator", "user create me --role admin", "login-link admin"),
    *("project Acme/App --set exclusive=yes", "project Acme/App --se=exclusive=yes", "import ."),
    *("batch answer coord-1", "createsuperuser", "changepassword admin", "shell"),
)
ALLOWED = ("project", "status", "token_of", "batch show x", "validate x.yaml", "mcp", "pending", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sites.seed(tmp_path / "data")
    (tmp_path / "work").mkdir()
    return tmp_path


def in_step(folder: Path, *words: str) -> Answer:
    """As a step without isolation calls it: only its environment tells."""
    done = subprocess.run(
        [FABER, *words],
        env={**environment(folder), "FABER_RUN_ID": "acme/app/1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def run_step(folder: Path, *argv: str, **settings: str) -> Answer:
    """A real run of one step, on a site of its own."""
    document = {"id": "small", "phases": {"build": {"steps": [{"id": "try", "run": list(argv)}]}}}
    (folder / "work" / "small.json").write_text(json.dumps(document))
    return shell_with(folder, settings, "run", "small.json", "--json")


def shell_with(folder: Path, settings: Mapping[str, str], *words: str) -> Answer:
    done = subprocess.run(
        [FABER, *words],
        cwd=folder / "work",
        env={**environment(folder), **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


# The rule


@pytest.mark.parametrize("line", REFUSED)
def test_a_step_may_not_decide(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_RUN_ID", "acme/app/1")

    assert inside.refusal(line.split()).startswith("Steps can't call `faber ")


@pytest.mark.parametrize("line", ALLOWED)
def test_a_step_may_look(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_RUN_ID", "acme/app/1")

    assert inside.refusal(line.split()) == ""


@pytest.mark.parametrize("line", REFUSED)
def test_a_person_may_decide(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABER_RUN_ID", raising=False)
    monkeypatch.setattr(inside, "is_isolated", lambda: False)

    assert inside.refusal(line.split()) == ""


def test_without_isolation_the_environment_tells(folder: Path) -> None:
    refused = in_step(folder, "login-link", "admin", "--json")
    made = shell(folder, "user", "create", "rita", "--role", "reviewer")

    assert refused.code == 7
    assert refused.document["error"]["code"] == "not_allowed"
    assert "Steps can't call `faber login-link`" in refused.err
    assert in_step(folder, "status").code in (0, 6)
    assert made.code == 0


# Real steps

TRIES = """
unset FABER_RUN_ID
for line in "login-link admin" "answer fr-1 approve" "token create mine --scope operator"; do
  {faber} $line; echo "$? $line"
done
cat "$FABER_DATA_DIR/secret_key" "$FABER_DATA_DIR/faber.sqlite3" && echo read the secrets
grep -l UNIQUE-KEY-OF-THE-SITE /proc/[0-9]*/environ
{faber} validate small.json; echo "$? validate"
{faber} status; echo "$? status"
true
"""


def test_an_isolated_step_cannot_decide_whatever_it_removes(folder: Path) -> None:
    need_isolation()

    ran = run_step(
        folder,
        *("sh", "-c", TRIES.format(faber=FABER)),
        FABER_SECRET_KEY="UNIQUE-KEY-OF-THE-SITE-for-all-eternity-0123456789",
        FABER_STEP_ISOLATION="require",
    )

    output = printed(ran)
    assert ran.code == 0, ran.err
    codes = [line.split()[0] for line in output.splitlines() if line[:2].strip().isdigit()]
    assert codes[:3] == ["7"] * 3, output
    assert "/proc/" not in output.replace("grep: /proc/", "")
    assert "read the secrets" not in output
    assert "Traceback" not in output
    assert "0 validate" in output
    assert "7 status" in output
    assert "Steps can't access the site's data" in output


def test_with_isolation_off_the_same_step_reads_everything(folder: Path) -> None:
    script = f'unset FABER_RUN_ID; wc -c < "$FABER_DATA_DIR/secret_key"; {FABER} status --json'

    ran = run_step(folder, "sh", "-c", script, FABER_STEP_ISOLATION="off")

    assert printed(ran).startswith(str((folder / "data" / "secret_key").stat().st_size))
    assert '"run_id"' in printed(ran)


def test_evidence_is_looked_for_in_isolation_too(folder: Path) -> None:
    need_isolation()
    secret = folder / "data" / "faber.sqlite3"
    step = {
        "id": "try",
        "run": ["true"],
        "evidence": [{"command": ["test", "!", "-e", str(secret)]}],
    }
    document = {"id": "small", "phases": {"build": {"steps": [step]}}}
    (folder / "work" / "small.json").write_text(json.dumps(document))

    isolated = shell_with(folder, {"FABER_STEP_ISOLATION": "require"}, "run", "small.json")
    bare = shell_with(folder, {"FABER_STEP_ISOLATION": "off"}, "run", "small.json")

    assert isolated.code == 0, isolated.err
    assert bare.code != 0


def printed(ran: Answer) -> str:
    """What the step printed, as it is shown while it runs."""
    lines = (line.strip() for line in ran.err.splitlines())
    return "\n".join(line.removeprefix("| ") for line in lines if line.startswith("| "))


# The way to people

ASKS = """
import json, subprocess, sys
command = [sys.argv[1], "mcp", "--permission-wait", "0"]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def say(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
def hear():
    return json.loads(server.stdout.readline())
say(id=1, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"}})
hear()
say(method="notifications/initialized")
say(id=2, method="tools/call", params={"name": "ask_human", "arguments":
    {"type": "confirmation", "prompt": "Drop the table?"}})
asked = hear()["result"]["structuredContent"]
say(id=4, method="tools/call", params={"name": "approve_tool_use", "arguments":
    {"tool_name": "Bash", "input": {"command": "make deploy"}}})
verdict = hear()["result"]["content"][0]["text"]
say(id=3, method="tools/list")
names = [tool["name"] for tool in hear()["result"]["tools"]]
server.stdin.close()
print(json.dumps({"status": "success", "message": "asked", "details":
    {"request": asked["request_id"], "verdict": verdict, "tools": names,
     "ended": server.wait(20)}}))
"""


def test_an_isolated_agent_asks_people_through_faber_mcp(folder: Path) -> None:
    need_isolation()

    ran = run_step(folder, sys.executable, "-c", ASKS, str(FABER), FABER_STEP_ISOLATION="require")
    pending = shell(folder, "pending", "--json").document["items"]

    assert ran.code == 0, ran.err
    details = json.loads(printed(ran).splitlines()[-1])["details"]
    assert details["ended"] == 0
    assert details["request"] in [item["request_id"] for item in pending]
    # With the patience that the one inside was given, and in the name of the run.
    assert "Nobody has answered yet" in details["verdict"]
    assert ran.document["run_id"] in json.dumps(pending)
    assert "ask_human" in details["tools"]


EMITS = """
import json, os, subprocess, sys
def emit(run, *words):
    done = subprocess.run([sys.argv[1], "emit", run, *words], capture_output=True, text=True)
    return [done.returncode, done.stdout, done.stderr]
own = os.environ["FABER_RUN_ID"]
seen = {
    "told": emit(own, "commit", "--message", "Adds it", "--data", '{"sha": "a1b2"}', "--json"),
    "engine": emit(own, "step_complete", "--message", "x"),
    "other": emit(sys.argv[2], "commit", "--message", "x"),
}
os.environ["FABER_RUN_ID"] = sys.argv[2]  # which a step can do
seen["pretended"] = emit(sys.argv[2], "commit", "--message", "x")
print(json.dumps({"status": "success", "message": "told", "details": seen}))
"""


def test_an_isolated_step_tells_of_its_work_in_its_own_run_only(folder: Path) -> None:
    need_isolation()
    other = run_step(folder, "false").document["run_id"]

    ran = run_step(
        folder, sys.executable, "-c", EMITS, str(FABER), other, FABER_STEP_ISOLATION="require"
    )

    assert ran.code == 0, ran.err
    seen = json.loads(printed(ran).splitlines()[-1])["details"]
    assert seen["told"][0] == 0, seen["told"]
    event = json.loads(seen["told"][1])
    assert (event["type"], event["run_id"]) == ("commit_create", ran.document["run_id"])
    assert (seen["engine"][0], seen["other"][0], seen["pretended"][0]) == (2, 7, 7)
    assert "only to its own run" in seen["other"][2]
    told = shell(folder, "events", ran.document["run_id"], "--json").document["items"]
    assert [each for each in told if each["type"] == "commit_create"] == [event]
    history = shell(folder, "events", other, "--json").document["items"]
    assert "commit_create" not in [each["type"] for each in history]
