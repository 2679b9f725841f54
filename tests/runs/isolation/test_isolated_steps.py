"""An isolated step sees neither the site's data nor others' processes; all else is as before."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from runs.domain.responses.results import ResultStatus
from runs.domain.workflow.definition import Step
from runs.executors import Order, Outcome, Rules, execute
from runs.isolation import ways
from runs.isolation.sheltering import Isolation
from tests.isolation import forget, isolating, need_isolation

__all__ = ["isolating"]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SECONDS = 20.0


class Onlooker:
    def __init__(self, stop: Callable[[], bool] = lambda: False) -> None:
        self.lines: list[str] = []
        self._stop = stop

    def line(self, stream: str, text: str) -> None:
        self.lines.append(text)

    def should_stop(self) -> bool:
        return self._stop()

    def hold(self) -> None:
        return None


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with something to find, and a workspace in it."""
    folder = tmp_path / "data"
    (folder / "demo" / "mine").mkdir(parents=True)
    (folder / "demo" / "other").mkdir()
    (folder / "demo" / "other" / "notes").write_text("not yours")
    (folder / "secret_key").write_text("top secret")
    return folder


@pytest.fixture
def mine(data: Path) -> Path:
    return data / "demo" / "mine"


def rules(data: Path, mode: Any = "require", **fields: Any) -> Rules:
    return Rules(isolation=Isolation(mode=mode, data=data, **fields))


def order(workspace: Path, *argv: str, timeout: float = SECONDS, **fields: Any) -> Order:
    return Order(
        step=Step(id="try", run=argv),
        key="build:try",
        briefing={"run_id": "a/b/c"},
        workspace=workspace,
        environment={"FABER_RUN_ID": "a/b/c", "FABER_ATTEMPT": "1"},
        timeout=timeout,
        **fields,
    )


def sh(data: Path, workspace: Path, script: str, **fields: Any) -> Outcome:
    watcher = fields.pop("watcher", Onlooker())
    given = rules(data, **fields.pop("rules", {}))
    return execute(order(workspace, "sh", "-c", script, **fields), given, watcher)


def until(condition: Callable[[], object], *, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def processes_with(mark: str) -> list[int]:
    """Whoever has the mark in its environment, in whatever namespace."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


# What a step cannot see


def test_the_data_directory_is_empty_but_for_the_steps_own_workspace(
    isolating: str, data: Path, mine: Path
) -> None:
    outcome = sh(
        data,
        mine,
        f"ls -A {data} {data}/demo; cat {data}/secret_key ../../secret_key ../other/notes; "
        f"touch {data}/x; touch made; true",
    )

    assert outcome.stdout.split() == [f"{data}:", "demo", f"{data}/demo:", "mine"]
    assert "top secret" not in outcome.stdout + outcome.stderr
    assert outcome.stderr.count("No such file") == 3
    assert "Read-only file system" in outcome.stderr
    assert (mine / "made").is_file()
    assert (mine / "made").stat().st_uid == os.getuid()


def test_who_only_reads_cannot_write_to_the_workspace_but_to_its_home(
    isolating: str, data: Path, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (mine / "plan.md").write_text("# Plan\n")

    script = "cat plan.md; echo more >> plan.md; touch made; touch ~/remembered; true"
    outcome = sh(data, mine, script, reads_only=True)

    assert outcome.stdout.strip() == "# Plan"
    assert outcome.stderr.count("Read-only file system") == 2
    assert [file.name for file in mine.iterdir()] == ["plan.md"]
    assert (home / "remembered").is_file()


def test_a_workspace_elsewhere_sees_an_empty_data_directory(
    isolating: str, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()

    assert sh(data, tmp_path / "elsewhere", f"ls -A {data} | wc -l").stdout.strip() == "0"


def test_no_other_process_can_be_seen(
    isolating: str, data: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABER_SECRET_KEY", "of-the-worker")

    outcome = sh(data, mine, "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]*")

    assert "of-the-worker" not in outcome.stdout
    assert f"/proc/{os.getpid()}\n" not in outcome.stdout
    assert "/proc/1\n" in outcome.stdout


@pytest.mark.parametrize(
    "attempt",
    [
        "umount {data}",
        "umount -l {data}",
        "unshare --user --map-root-user --mount umount {data}",
        "unshare --user --map-root-user --mount umount -l {data}",
        "unshare --mount umount {data}",
        "nsenter --target 1 --mount true",
        "nsenter --target 1 --user --mount true",
        "nsenter --target 1 --pid true",
        "mount -o remount,rw {data}",
        "unshare --user --map-root-user --mount mount -o remount,rw,bind {data}",
        "kill -9 1; false",
        "test -w /proc/sys/kernel/core_pattern",
    ],
)
def test_the_isolation_cannot_be_undone(
    isolating: str, data: Path, mine: Path, attempt: str
) -> None:
    outcome = sh(data, mine, f"{attempt.format(data=data)} && cat {data}/secret_key")

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.exit_code not in (0, None)
    assert "top secret" not in outcome.stdout


def test_a_database_outside_the_data_directory_is_blank(
    isolating: str, data: Path, tmp_path: Path, mine: Path
) -> None:
    database = tmp_path / "faber.sqlite3"
    for name in ("faber.sqlite3", "faber.sqlite3-wal", "faber.sqlite3-turn"):
        (tmp_path / name).write_text("rows")

    seen = f"cat {database} {database}-wal {database}-turn"
    outcome = sh(data, mine, seen, rules={"database": database})

    assert "rows" not in outcome.stdout
    assert database.read_text() == "rows"


# What a step can do as before


def test_a_step_commits_in_a_worktree_within_the_data_directory(isolating: str, data: Path) -> None:
    home, tree = data / "workspaces" / "app", data / "worktrees" / "run"
    home.mkdir(parents=True)
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q", str(home)], check=True)
    subprocess.run([*git, "-C", str(home), "commit", "-qm", "a", "--allow-empty"], check=True)
    subprocess.run([*git, "-C", str(home), "worktree", "add", "-q", str(tree)], check=True)

    script = f"echo b > b && git add b && {' '.join(git)} commit -qm b && git log --format=%s"
    outcome = sh(data, tree, script, kept=(tree, home))

    assert outcome.stdout.split() == ["b", "a"], outcome.stderr
    told = subprocess.run(["git", "-C", str(tree), "status", "-s"], capture_output=True, check=True)
    assert told.stdout == b""


def test_programs_find_what_they_need(isolating: str, data: Path, mine: Path) -> None:
    script = "echo $HOME; test -d $HOME && test -w /tmp && echo hello > /dev/null && id -u; "
    script += f"{sys.executable} -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'; "
    script += "git --version > /dev/null || echo no git; "
    script += "node -e 'console.log(6 * 7)'" if shutil.which("node") else "echo 42"

    outcome = sh(data, mine, script)

    assert outcome.stdout.split() == [os.environ["HOME"], str(os.getuid()), "42"]
    assert outcome.stderr == ""


def test_home_and_briefing_may_lie_in_the_data_directory(
    isolating: str, data: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, variable in (("home", "HOME"), ("tmp", "TMPDIR")):
        (data / name).mkdir()
        monkeypatch.setenv(variable, str(data / name))
    monkeypatch.setattr("tempfile.tempdir", None)
    (data / "home" / ".credentials").write_text("mine")

    outcome = sh(data, mine, "cat ~/.credentials; touch ~/.cache; cat $FABER_BRIEFING")

    assert outcome.stdout == 'mine{"run_id": "a/b/c"}'
    assert (data / "home" / ".cache").exists()


def test_files_of_others_stay_theirs(isolating: str, data: Path, mine: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make files of others")
    (mine / "theirs").write_text("x")
    (mine / "theirs").chmod(0o600)
    os.chown(mine / "theirs", 12345, 12345)

    assert sh(data, mine, "echo y >> theirs; stat -c %u:%g theirs").stdout == "12345:12345\n"


# What the warden does, as before


def test_exit_codes_signals_and_streams_are_those_of_the_command(
    isolating: str, data: Path, mine: Path
) -> None:
    ended = sh(data, mine, "cat; echo out; echo err >&2; exit 7")
    killed = sh(data, mine, "kill -9 $$")
    missing = execute(order(mine, "no-such-tool"), rules(data), Onlooker())

    assert (ended.exit_code, ended.stderr) == (7, "err\n")
    assert ended.stdout == '{"run_id": "a/b/c"}out\n'
    assert killed.exit_code == 128 + signal.SIGKILL
    assert missing.result.message == "The command 'no-such-tool' was not found."
    assert missing.exit_code == 127


def test_a_step_is_asked_to_end_before_it_is_killed(isolating: str, data: Path, mine: Path) -> None:
    asked = sh(
        data, mine, "trap 'echo tidied; exit 0' TERM; while true; do sleep 0.1; done", timeout=1
    )
    deaf = sh(data, mine, "trap '' TERM; while true; do sleep 0.1; done", timeout=1)

    assert (asked.ended, asked.stdout) == ("timeout", "tidied\n")
    assert (deaf.ended, deaf.exit_code) == ("timeout", 128 + signal.SIGKILL)


def test_a_stopped_step_leaves_nobody_behind(isolating: str, data: Path, mine: Path) -> None:
    mark = f"MARK={uuid4().hex}"
    watcher = Onlooker(stop=lambda: bool(watcher.lines))

    outcome = sh(
        data,
        mine,
        f"export {mark}; setsid sh -c 'trap \"\" TERM; sleep 600' & "
        f"{mark} sh -c 'echo here; sleep 600'",
        watcher=watcher,
    )

    assert outcome.ended == "stopped"
    assert processes_with(mark) == []


def test_a_child_that_is_nearly_done_may_finish(isolating: str, data: Path, mine: Path) -> None:
    outcome = sh(data, mine, "(sleep 0.1; echo late) & echo early; ls /proc/self/fd | wc -l")

    # Standard input, output and error, and the folder being listed.
    assert outcome.stdout.split() == ["early", "4", "late"]


WORKER = """
import sys
from pathlib import Path
from runs.domain.workflow.definition import Step
from runs.executors import Order, Rules, execute
from runs.isolation import ways
from runs.isolation.sheltering import Isolation

class Nobody:
    def line(self, stream, text): pass
    def should_stop(self): return False
    def hold(self): return None

ways.WAYS = (getattr(ways, sys.argv[1]),)
execute(
    Order(
        step=Step(id="try", run=("sh", "-c", "setsid sleep 600 & echo x > begun; sleep 600")),
        key="build:try", briefing={}, workspace=Path(sys.argv[2]), environment={}, timeout=600,
    ),
    Rules(isolation=Isolation(
        mode="require", data=Path(sys.argv[2]).parents[1], door=("sleep", "600"),
    )),
    Nobody(),
)
"""


@pytest.mark.parametrize("victim", ["worker", "outermost"])
def test_killing_the_worker_or_the_isolation_ends_the_whole_step(
    isolating: str, data: Path, mine: Path, victim: str
) -> None:
    temporary = data.parent / "temporary"
    temporary.mkdir()
    mark = f"MARK={uuid4().hex}"
    name, _, value = mark.partition("=")
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, isolating, str(mine)],
        cwd=ROOT,
        env={**os.environ, name: value, "TMPDIR": str(temporary)},
    )
    try:
        until((mine / "begun").exists)
        if victim == "outermost":
            (outermost,) = children_of(worker.pid)
            os.kill(outermost, signal.SIGKILL)
            worker.wait(SECONDS)
    finally:
        worker.kill()
        worker.wait()

    until(lambda: processes_with(mark) == [], seconds=5)
    until(lambda: not list(temporary.iterdir()), seconds=5)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_nothing_is_left_open(isolating: str, data: Path, mine: Path) -> None:
    sh(data, mine, "true", rules={"door": ("true",)})
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208

    sh(data, mine, "true", rules={"door": ("true",)})

    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


# An ordinary account


def test_an_ordinary_account_is_isolated_too(isolating: str, tmp_path: Path) -> None:
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become another account")
    if not Path("/usr/bin/python3").exists():
        pytest.skip("there is no Python that another account may use")
    folder = Path("/tmp") / f"faber-ordinary-{uuid4().hex}"  # noqa: S108 - open to that account
    (folder / "data" / "mine").mkdir(parents=True)
    try:
        (folder / "data" / "secret_key").write_text("top secret")
        for name in ("enter.py", "veil.py"):
            shutil.copy(ROOT / "runs" / "isolation" / name, folder)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
        told = subprocess.run(
            [
                *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"),
                *_prefix_of_an_ordinary_account(isolating, folder),
                *("sh", "-c", ORDINARY, "sh", str(folder / "data")),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if "Operation not permitted" in told.stderr and not told.stdout:
            pytest.skip(f"an ordinary account cannot be isolated here: {told.stderr.strip()}")
        assert told.stdout.split() == ["65534", "mine", "65534", "kept"]
    finally:
        shutil.rmtree(folder)


ORDINARY = """
id -u; ls "$1"; touch made; stat -c %u made; cat "$1/secret_key"
umount "$1" || unshare --user --map-root-user --mount umount "$1" || nsenter -t 1 -m true \
    || echo kept
"""


def _prefix_of_an_ordinary_account(way: str, folder: Path) -> list[str]:
    code = (
        "import os, sys; from pathlib import Path; from runs.isolation import ways; "
        "os.geteuid = os.getegid = lambda: 65534; data = Path(sys.argv[2]) / 'data'; "
        "view = ways.View(hidden=(data,), kept=(data / 'mine',), folder=data / 'mine'); "
        "print(chr(0).join(getattr(ways, sys.argv[1])(view)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, way, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    words = told.stdout.strip().split("\0")
    swapped = {
        sys.executable: "/usr/bin/python3",
        str(ROOT / "runs" / "isolation" / "enter.py"): str(folder / "enter.py"),
    }
    return [swapped.get(word, word) for word in words]


# Where it cannot be had


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with what steps need, without what isolates them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    forget()


@pytest.mark.usefixtures("nothing_installed")
def test_where_it_cannot_be_had_require_fails_the_step(data: Path, mine: Path) -> None:
    outcome = sh(data, mine, "echo x > ran")
    forget()

    assert outcome.result.status is ResultStatus.FAILURE
    assert outcome.result.message == (
        "This site requires step isolation, which is not available here: "
        "bwrap is not installed; unshare is not installed."
    )
    assert "Install bubblewrap" in outcome.result.suggested_fixes[0]
    assert not (mine / "ran").exists()


@pytest.mark.usefixtures("nothing_installed")
def test_where_it_cannot_be_had_auto_goes_on_and_says_so_once(
    data: Path, mine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = f"cat {data}/secret_key"
    said = [sh(data, mine, script, rules={"mode": "auto"}).stdout for _ in range(2)]
    forget()

    assert said == ["top secret", "top secret"]
    assert caplog.text.count("Steps run without isolation") == 1


def test_off_is_off(data: Path, mine: Path) -> None:
    outcome = sh(data, mine, f"cat {data}/secret_key", rules={"mode": "off"})

    assert outcome.stdout == "top secret"


def test_a_program_that_is_there_but_does_not_isolate_is_not_taken(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_isolation()
    pretender = tmp_path / "bin" / "bwrap"
    pretender.parent.mkdir()
    pretender.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    pretender.chmod(0o755)
    monkeypatch.setenv("PATH", str(pretender.parent), prepend=":")
    forget()

    mounts = Path("/proc/self/mounts").read_text()

    try:
        taken = ways._looked((data,))
    finally:
        forget()

    assert taken is not ways.bubblewrap
    assert Path("/proc/self/mounts").read_text() == mounts


def test_what_fails_at_the_last_moment_fails_the_step(
    data: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "working", lambda hidden: lambda view: ("sh", "-c", "exit 1"))

    outcome = sh(data, mine, "echo x > ran", rules={"mode": "auto"})

    assert outcome.result.message == "Could not isolate the step, so it was not executed."
    assert not (mine / "ran").exists()
