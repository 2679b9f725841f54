import os
import subprocess
import sys
from pathlib import Path

import pytest

from faber_site.runtime import processes
from faber_site.runtime.processes import BUSY, IDLE, Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_session_has_its_members() -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as sleeper:
        assert [p.pid for p in processes.in_session(sleeper.pid)] == [sleeper.pid]

        processes.kill_session(sleeper.pid)
        sleeper.wait()

        assert processes.in_session(sleeper.pid) == []


def test_who_has_died_is_no_longer_there() -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as sleeper:
        members = processes.in_session(sleeper.pid)
        assert processes.are_still_there(members)

        sleeper.kill()
        sleeper.wait()

        assert not processes.are_still_there(members)


def test_the_dead_are_no_members() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as short:
        os.waitid(os.P_PID, short.pid, os.WEXITED | os.WNOWAIT)

        assert processes.in_session(short.pid) == []


def test_a_name_may_hold_anything(tmp_path: Path) -> None:
    odd = tmp_path / "a) S 1 (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([str(odd), "30"], start_new_session=True) as sleeper:
        (found,) = processes.in_session(sleeper.pid)
        sleeper.kill()

    assert found.name == "a) S 1 (b"
    assert found.parent == os.getpid()


def test_killing_who_is_gone_is_no_error() -> None:
    with subprocess.Popen(["true"]) as short:
        pass

    Process(pid=short.pid, parent=1, session=1, name="true").kill()


def test_a_worker_with_a_job_is_spared_with_all_who_work_for_it() -> None:
    members = [
        Process(pid=1, parent=0, session=1, name="python"),
        Process(pid=2, parent=1, session=1, name=IDLE),
        Process(pid=3, parent=1, session=1, name=BUSY),
        Process(pid=4, parent=3, session=1, name="git"),
        Process(pid=5, parent=4, session=1, name="ssh"),
        Process(pid=6, parent=2, session=1, name="git"),
    ]

    assert [p.pid for p in processes.without_job(members)] == [1, 2, 6]
