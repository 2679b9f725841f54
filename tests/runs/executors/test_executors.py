"""Steps are executed as real processes; whatever they do, an outcome comes back."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runs.domain.responses.results import ResultStatus
from runs.domain.workflow.definition import Step
from runs.executors import Order, Outcome, Rules, execute
from runs.executors.agents.prompts import prompt

ROOT = Path(__file__).parents[3]
RULES = Rules(python_prefixes=("allowed_steps",))
BRIEFING: dict[str, object] = {"run_id": "a/b/c", "instruction": "Do it.", "context": {"state": 1}}
SECONDS = 20.0


class Recorder:
    def __init__(self, stop: Callable[[], bool] = lambda: False) -> None:
        self.lines: list[tuple[str, str]] = []
        self.asked = 0
        self._stop = stop

    def line(self, stream: str, text: str) -> None:
        self.lines.append((stream, text))

    def should_stop(self) -> bool:
        self.asked += 1
        return self._stop()

    def hold(self) -> None:
        return None


def order(workspace: Path, *, timeout: float = SECONDS, **fields: Any) -> Order:
    briefing = fields.pop("briefing", BRIEFING)
    return Order(
        step=Step(id="try", **fields),
        key="build:try",
        briefing=briefing,
        workspace=workspace,
        environment={"FABER_RUN_ID": "a/b/c", "FABER_ATTEMPT": "2"},
        timeout=timeout,
    )


def run(workspace: Path, code: str, *, watcher: Recorder | None = None, **fields: Any) -> Outcome:
    script = (sys.executable, "-c", code)
    return execute(order(workspace, run=script, **fields), RULES, watcher or Recorder())


def run_agent(workspace: Path, code: str) -> Outcome:
    rules = Rules(agent_command=(sys.executable, "-c", code))
    return execute(order(workspace, prompt="Write it."), rules, Recorder())


def until(condition: Callable[[], object], *, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def pids_in(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


# What a step says


def test_the_last_json_object_is_the_response(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        'print(\'{"status": "failure", "message": "early"}\')\n'
        'print(\'now really: {"status": "success", "message": "done"} bye\')',
    )

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "done"
    assert outcome.exit_code == 0
    assert outcome.ended == ""


def test_without_json_a_clean_exit_is_success_with_the_last_line(tmp_path: Path) -> None:
    outcome = run(tmp_path, "print('one'); print('two tests passed'); print()")

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "two tests passed"


def test_a_last_line_is_kept_whole_however_long_it_is(tmp_path: Path) -> None:
    line = run(tmp_path, "print('first'); print('x' * 15_000)").result.message
    endless = run(tmp_path, "print('x' * 50_000)").result.message

    assert line == "x" * 15_000
    assert endless.endswith("x… (30,060 more characters omitted)")


def test_a_step_that_prints_to_stderr_alone_is_not_without_output(tmp_path: Path) -> None:
    """As Python's unittest does."""
    outcome = run(tmp_path, "import sys; sys.stderr.write('Ran 2 tests\\n\\nOK\\n')")

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "OK"


def test_a_step_that_prints_nothing_succeeds_and_that_is_said(tmp_path: Path) -> None:
    outcome = run(tmp_path, "")

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "try finished without output."


def test_without_json_another_exit_is_a_failure_with_the_tail_of_stderr(tmp_path: Path) -> None:
    outcome = run(
        tmp_path, "import sys; print('so far so good'); sys.stderr.write('no disk\\n'); sys.exit(3)"
    )

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.errors == ("no disk",)
    assert outcome.result.details["exit_code"] == 3
    assert outcome.result.details["output_tail"] == "so far so good\nno disk"
    assert outcome.stderr == "no disk\n"


def test_success_with_an_exit_code_of_failure_is_a_failure(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        'import sys; print(\'{"status": "success", "message": "fine"}\'); sys.exit(4)',
    )

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.message == "The step reported success but exited with code 4."
    assert "fine" in outcome.result.errors[0]


def test_a_failure_keeps_the_last_forty_lines(tmp_path: Path) -> None:
    outcome = run(tmp_path, "for n in range(100): print('line', n)\nraise SystemExit(1)")

    tail = str(outcome.result.details["output_tail"]).split("\n")
    assert tail == [f"line {n}" for n in range(60, 100)]


def test_a_signal_is_an_exit_code_above_128(tmp_path: Path) -> None:
    outcome = run(tmp_path, "import os; os.kill(os.getpid(), 9)")

    assert outcome.exit_code == 128 + signal.SIGKILL
    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.ended == ""


def test_a_string_is_split_and_never_seen_by_a_shell(tmp_path: Path) -> None:
    command = order(tmp_path, run="echo 'a  b' $HOME ; echo c")

    assert execute(command, RULES, Recorder()).stdout == "a  b $HOME ; echo c\n"


# What a step may do to us


def test_garbage_is_a_message_like_any_other(tmp_path: Path) -> None:
    outcome = run(tmp_path, 'print(\'}}{{{{"][ \\\\ {"a": \')')

    assert outcome.result.status is ResultStatus.SUCCESS


def test_invalid_utf8_is_replaced_and_noted(tmp_path: Path) -> None:
    outcome = run(tmp_path, "import sys; sys.stdout.buffer.write(b'caf\\xe9 \\x00 \\xc3\\xa9\\n')")

    assert outcome.stdout == "caf\ufffd \ufffd é\n"
    assert outcome.result.notes == (
        "The standard output contained bytes that are not UTF-8; 2 were replaced.",
    )


def test_of_fifty_megabytes_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "import sys\n"
        "sys.stdout.write('begin\\n')\n"
        "for _ in range(50): sys.stdout.write('€' * (1024 * 1024 // 3) + '\\n')\n"
        'print(\'{"status": "success", "message": "said a lot"}\')',
    )

    size = len(outcome.stdout.encode())
    assert outcome.result.message == "said a lot"
    assert outcome.stdout.startswith("begin\n€")
    assert "bytes left out …]\n€" in outcome.stdout
    assert size < 10 * 1024 * 1024 + 100
    assert "\ufffd" not in outcome.stdout
    assert "too long" in outcome.result.notes[0]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    outcome = run(tmp_path, "import sys; sys.stderr.write('x' * (50 * 1024 * 1024))")

    assert "\n[… 41943040 bytes left out …]\n" in outcome.stderr


def test_a_flood_of_lines_is_thinned_out_for_the_watcher(tmp_path: Path) -> None:
    watcher = Recorder()

    outcome = run(tmp_path, "for n in range(200_000): print(n)\nprint('x' * 5000)", watcher=watcher)

    shown = [text for _, text in watcher.lines]
    assert shown[0] == "0"
    assert len(shown) < 1000
    assert any("lines not shown" in text for text in shown)
    assert max(map(len, shown)) <= 2001
    assert outcome.stdout.startswith("0\n1\n")


def test_the_watcher_sees_both_streams_while_the_step_runs(tmp_path: Path) -> None:
    watcher = Recorder(stop=lambda: len(watcher.lines) == 2)

    outcome = run(
        tmp_path,
        "import sys, time\n"
        "print('a', flush=True); print('b', file=sys.stderr, flush=True); time.sleep(600)",
        watcher=watcher,
    )

    assert sorted(watcher.lines) == [("stderr", "b"), ("stdout", "a")]
    assert outcome.ended == "stopped"
    assert outcome.result.status is ResultStatus.FAILURE


def test_a_step_that_never_ends_is_ended(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('tidied up'), sys.exit(0)))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(1)",
        timeout=2,
    )

    assert outcome.ended == "timeout"
    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.message == "The step timed out after 2 seconds."
    assert outcome.stdout == "ready\ntidied up\n"


def test_a_step_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    begun = time.monotonic()

    outcome = run(
        tmp_path,
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True: time.sleep(1)",
        timeout=1,
    )

    assert outcome.exit_code == 128 + signal.SIGKILL
    assert outcome.ended == "timeout"
    assert 3 <= time.monotonic() - begun < 15


def test_the_watcher_is_asked_often_enough(tmp_path: Path) -> None:
    watcher = Recorder()

    run(tmp_path, "while True: pass", watcher=watcher, timeout=2)

    assert watcher.asked >= 4


STAYS = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
LEAVES_ONE_BEHIND = f"""
import subprocess, sys, pathlib
child = subprocess.Popen([sys.executable, "-c", {STAYS!r}], start_new_session=True)
pathlib.Path("pids").write_text(str(child.pid))
print("gone")
"""


def test_a_child_that_outlives_the_command_is_ended(tmp_path: Path) -> None:
    begun = time.monotonic()

    outcome = run(tmp_path, LEAVES_ONE_BEHIND)

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "gone"
    assert outcome.ended == ""
    assert time.monotonic() - begun < 10
    (pid,) = pids_in(tmp_path / "pids")
    assert is_gone(pid)


def test_a_child_that_is_nearly_done_may_finish(tmp_path: Path) -> None:
    shell = order(tmp_path, run=("sh", "-c", "(sleep 0.1; echo late) & echo early"))

    assert execute(shell, RULES, Recorder()).stdout == "early\nlate\n"


def test_a_step_that_kills_its_warden_is_lost_and_ended(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "import os, subprocess, sys, pathlib, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {STAYS!r}])\n"
        "pathlib.Path('pids').write_text(f'{os.getpid()} {child.pid}')\n"
        "os.kill(os.getppid(), 9); time.sleep(600)",
    )

    assert outcome.ended == "lost"
    assert outcome.exit_code is None
    assert outcome.result.status is ResultStatus.FAILURE
    until(lambda: all(is_gone(pid) for pid in pids_in(tmp_path / "pids")))


def test_nothing_goes_on_when_the_watcher_itself_breaks(tmp_path: Path) -> None:
    class Broken(Recorder):
        def line(self, stream: str, text: str) -> None:
            raise RuntimeError("no database")

    code = "import os, time; open('pids', 'w').write(str(os.getpid())); "
    code += "print('here', flush=True); time.sleep(600)"

    with pytest.raises(RuntimeError, match="no database"):
        run(tmp_path, code, watcher=Broken())

    (pid,) = pids_in(tmp_path / "pids")
    assert is_gone(pid)


WORKER = """
import sys
from pathlib import Path
from runs.domain.workflow.definition import Step
from runs.executors import Order, Rules, execute

class Nobody:
    def line(self, stream, text): pass
    def should_stop(self): return False
    def hold(self): return None

execute(
    Order(
        step=Step(id="try", run=(sys.executable, "-c", sys.argv[2])), key="build:try", briefing={},
        workspace=Path(sys.argv[1]), environment={}, timeout=600,
    ),
    Rules(), Nobody(),
)
"""
THREE_GENERATIONS = f"""
import os, subprocess, sys, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
inner = "import os, subprocess, sys, time; "
inner += "p = subprocess.Popen([sys.executable, '-c', {STAYS!r}], start_new_session=True); "
inner += "open('pids.tmp', 'a').write(f' {{os.getpid()}} {{p.pid}}'); "
inner += "os.rename('pids.tmp', 'pids'); time.sleep(600)"
pathlib.Path("pids.tmp").write_text(str(os.getpid()))
subprocess.Popen([sys.executable, "-c", inner], start_new_session=True)
time.sleep(600)
"""


def test_killing_the_worker_ends_the_whole_step(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), THREE_GENERATIONS],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        until(lambda: len(pids_in(tmp_path / "pids")) == 3)
    finally:
        worker.kill()
        worker.wait()

    until(lambda: all(is_gone(pid) for pid in pids_in(tmp_path / "pids")), seconds=5)
    until(lambda: not list(temporary.iterdir()), seconds=5)


@pytest.mark.parametrize("size", [0, 5_000_000])
def test_a_step_may_leave_its_briefing_unread(tmp_path: Path, size: int) -> None:
    outcome = run(tmp_path, "print('never looked')", briefing={"context": "x" * size})

    assert outcome.result.message == "never looked"


def test_a_large_briefing_is_read_while_the_step_prints(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "import sys, json\n"
        "text = ''\n"
        "while part := sys.stdin.read(100_000):\n"
        "    text += part; print('.' * 100_000)\n"
        "length = len(json.loads(text)['context'])\n"
        "print(json.dumps({'status': 'success', 'message': str(length)}))",
        briefing={"context": "ü" * 5_000_000},
    )

    assert outcome.result.message == "5000000"


# What a step is given

TELLS_ITS_ENVIRONMENT = (
    "import json, os, sys; from pathlib import Path; print(json.dumps({'status': 'success',"
    "'message': 'ok', 'details': {'stdin': sys.stdin.read(), 'cwd': os.getcwd(), "
    "'file': Path(os.environ['FABER_BRIEFING']).read_text(), 'environment': dict(os.environ)}}))"
)


def test_a_step_stands_in_its_workspace_with_its_briefing(tmp_path: Path) -> None:
    details: Any = run(tmp_path, TELLS_ITS_ENVIRONMENT).result.details

    assert details["cwd"] == str(tmp_path.resolve())
    assert json.loads(details["stdin"]) == BRIEFING
    assert details["file"] == details["stdin"]
    assert details["environment"]["FABER_RUN_ID"] == "a/b/c"
    assert details["environment"]["FABER_ATTEMPT"] == "2"
    assert not Path(details["environment"]["FABER_BRIEFING"]).exists()


def test_the_secrets_of_the_site_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = (
        "FABER_SECRET_KEY",
        "FABER_DATABASE_URL",
        "FABER_NOTIFY_URLS",
        "FABER_GITHUB_TOKEN",
        "FABER_GITHUB_APP_KEY",
        "FABER_GITHUB_WEBHOOK_SECRET",
    )
    for name in (*secrets, "FABER_HOST", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "something")

    details: Any = run(tmp_path, TELLS_ITS_ENVIRONMENT).result.details

    assert not set(secrets) & set(details["environment"])
    assert {"FABER_HOST", "ANTHROPIC_API_KEY", "PATH"} <= set(details["environment"])


def test_a_step_has_its_own_session_and_usual_signals(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "import os\n"
        "print(os.getsid(0) == os.getpgrp() == os.getpid(), len(os.listdir('/proc/self/fd')))",
    )
    shell = execute(order(tmp_path, run=("sh", "-c", "yes | head -1")), RULES, Recorder())

    # Standard input, output and error, and the folder being listed.
    assert outcome.stdout == "True 4\n"
    assert (shell.stdout, shell.stderr) == ("y\n", "")


# What cannot be started


def test_a_missing_command_is_a_failure_that_names_it(tmp_path: Path) -> None:
    outcome = execute(order(tmp_path, run=("no-such-tool", "-x")), RULES, Recorder())

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.message == "The command 'no-such-tool' was not found."
    assert outcome.exit_code == 127
    assert "Traceback" not in outcome.stderr


def test_a_file_that_is_no_program_is_a_failure_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    outcome = execute(order(tmp_path, run=("./notes.txt",)), RULES, Recorder())

    assert outcome.result.message == (
        "The command './notes.txt' could not start: Permission denied."
    )
    assert outcome.exit_code == 126


def test_a_missing_workspace_is_a_failure_that_names_it(tmp_path: Path) -> None:
    outcome = run(tmp_path / "gone", "print('hello')")

    assert outcome.result.status is ResultStatus.FAILURE
    assert str(tmp_path / "gone") in outcome.result.message
    assert outcome.exit_code is None


@pytest.mark.parametrize(
    "command", ["", (), "''", "echo 'unclosed", ("echo", "a\0b"), ("echo", "x" * 10_000_000)]
)
def test_a_command_that_cannot_be_is_a_failure(tmp_path: Path, command: object) -> None:
    outcome = execute(order(tmp_path, run=command), RULES, Recorder())

    assert outcome.result.status is ResultStatus.FAILURE


def test_a_remote_step_is_not_executed_here(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="build:try is a remote step"):
        execute(order(tmp_path, remote=True), RULES, Recorder())


# Agents

ANSWER = '{"status": "success", "message": "written"}'
ENVELOPE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": f"All is well.\n```json\n{ANSWER}\n```\n",
    "session_id": "s",
    "total_cost_usd": 0.1,
    "num_turns": 3,
}


@pytest.mark.parametrize(
    "printed",
    [
        f"I did it.\n\n{ANSWER}",
        json.dumps(ENVELOPE),
        json.dumps([{"type": "system"}, {"type": "assistant", "message": {}}, ENVELOPE]),
    ],
    ids=["plain", "envelope", "messages"],
)
def test_an_agent_answers_in_one_of_three_shapes(tmp_path: Path, printed: str) -> None:
    outcome = run_agent(tmp_path, f"print({printed!r})")

    assert outcome.result.status is ResultStatus.SUCCESS
    assert outcome.result.message == "written"


def test_an_agent_that_exits_badly_has_failed_whatever_it_says(tmp_path: Path) -> None:
    outcome = run_agent(tmp_path, f"print({ANSWER!r}); raise SystemExit(1)")

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.details["exit_code"] == 1


def test_an_agent_that_answers_without_json_has_failed(tmp_path: Path) -> None:
    outcome = run_agent(tmp_path, "print('I think it is done.')")

    assert outcome.result.status is ResultStatus.FAILURE
    assert "must end with a JSON skill response" in outcome.result.message
    assert outcome.result.details["words"] == "I think it is done."


def test_an_agent_reads_its_prompt_from_standard_input(tmp_path: Path) -> None:
    outcome = run_agent(
        tmp_path,
        "import sys, os, json; text = sys.stdin.read()\n"
        "print(json.dumps({'status': 'success', 'message': 'ok',"
        " 'details': {'text': text, 'run': os.environ['FABER_RUN_ID']}}))",
    )

    assert outcome.result.details["text"] == prompt(order(tmp_path, prompt="Write it."))
    assert outcome.result.details["run"] == "a/b/c"


def test_without_an_agent_command_that_is_said(tmp_path: Path) -> None:
    outcome = execute(order(tmp_path, prompt="Write it."), Rules(), Recorder())

    assert "FABER_AGENT_COMMAND" in outcome.result.message


# Functions


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "allowed_steps.py").write_text(
        "import os, sys, time\n"
        "def greet(briefing):\n"
        "    briefing['changed'] = True\n"
        "    return {'status': 'success', 'message': f\"hello {briefing['run_id']}\"}\n"
        "def fail(briefing): raise LookupError('no such branch')\n"
        "def leave(briefing): sys.exit(2)\n"
        "def nothing(briefing): return None\n"
        "def wait(briefing):\n"
        "    while True: time.sleep(0.01)\n"
    )
    (tmp_path / "allowed_steps_not.py").write_text("def greet(briefing): return {}")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("allowed_steps", "allowed_steps_not"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def call(workspace: Path, reference: str, **fields: Any) -> Outcome:
    return execute(order(workspace, python=reference, **fields), RULES, Recorder())


def test_an_allowed_function_is_called_with_a_briefing_of_its_own(functions: Path) -> None:
    outcome = call(functions, "allowed_steps:greet")

    assert outcome.result.message == "hello a/b/c"
    assert "changed" not in BRIEFING


@pytest.mark.parametrize("module", ["allowed_steps_not", "os", "allowed"])
def test_a_function_elsewhere_is_refused_and_not_even_imported(
    functions: Path, module: str
) -> None:
    outcome = call(functions, f"{module}:greet")

    assert outcome.result.message == f"The module {module} is not allowed for steps."
    assert "allowed_steps_not" not in sys.modules


def test_an_allowed_module_is_no_way_to_another(functions: Path) -> None:
    outcome = call(functions, "allowed_steps:os.system")

    assert outcome.result.status is ResultStatus.FAILURE
    assert "refers to the module os" in outcome.result.message


def test_an_exception_becomes_a_failure_with_its_traceback(functions: Path) -> None:
    outcome = call(functions, "allowed_steps:fail")

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.message == "The step raised LookupError: no such branch"
    assert "in fail" in outcome.stderr
    assert outcome.result.details["output_tail"] == outcome.stderr


@pytest.mark.parametrize("name", ["leave", "nothing", "missing", "time.sleep"])
def test_whatever_a_function_does_is_an_outcome(functions: Path, name: str) -> None:
    assert call(functions, f"allowed_steps:{name}").result.status is ResultStatus.FAILURE


def test_a_function_that_never_returns_is_given_up(functions: Path) -> None:
    outcome = call(functions, "allowed_steps:wait", timeout=1)

    assert outcome.ended == "timeout"
    assert outcome.result.status is ResultStatus.FAILURE
    until(lambda: "allowed_steps:wait" not in thread_names())


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_nothing_is_left_open(tmp_path: Path) -> None:
    run(tmp_path, "print('warm')")
    before = open_files()

    run(tmp_path, "print('again')")
    execute(order(tmp_path, run=("no-such-tool",)), RULES, Recorder())
    run(tmp_path / "gone", "")

    assert open_files() == before


def open_files() -> list[str]:
    return sorted(str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.exists())
