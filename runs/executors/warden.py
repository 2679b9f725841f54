"""Stands between a worker and a step's command, so that the whole step ends with the worker.

Run as a script: `python -I -S warden.py SOCKET COMMAND…`. On the socket it says `started PID`,
`failed ERRNO` or `ended STATUS`. A byte from the worker asks everything below to end; the end of
the worker's side, which also comes when the worker is killed, kills it.
"""

# Every step waits for these imports; signal, contextlib, pathlib or ctypes would double the time.
# ruff: noqa: PTH108, PTH123, PTH208, SIM105
import _ctypes
import _signal  # type: ignore[import-not-found]
import _thread
import os
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    worker, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(worker, False)
    # Children that outlive their parent come to us, even when they left its group and session.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    warden = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(command, warden, worker)
    _tell(worker, "started", pid)
    _let_go_of_the_pipes()
    _thread.start_new_thread(_obey, (worker, pid))
    status = _reap(worker, pid)
    _remove_briefing()
    os._exit(status)


def _become(command: list[str], warden: int, worker: int) -> None:
    os.setsid()
    # Python ignores these two; a command expects the default.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    _prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
    if os.getppid() != warden:  # it died before the line above could matter
        os._exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell on purpose
    except OSError as error:
        _tell(worker, "failed", error.errno or 0)
    os._exit(127)


def _prctl(option: int, value: int) -> None:
    try:
        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    except OSError:
        return  # not Linux: only the command's own group can be ended
    _ctypes.call_function(address, (option, value, 0, 0, 0))


def _tell(worker: int, word: str, number: int) -> None:
    try:
        os.write(worker, f"{word} {number}\n".encode())
    except OSError:
        pass  # the worker is gone, which the other thread finds out


def _let_go_of_the_pipes() -> None:
    """The command alone holds its input and output, so closing them means something."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def _obey(worker: int, command: int) -> None:
    try:
        while os.read(worker, 1):
            _signal_below(command, _signal.SIGTERM)
    except OSError:
        pass  # reset instead of closed, when the worker died with our words unread
    while True:
        _signal_below(command, _signal.SIGKILL)
        time.sleep(0.02)


def _reap(worker: int, command: int) -> int:
    """The command's exit status, once nothing is left below."""
    status = 1
    while True:
        try:
            pid, ending = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if pid == command:
            code = os.waitstatus_to_exitcode(ending)
            status = 128 - code if code < 0 else code
            _tell(worker, "ended", status)


def _remove_briefing() -> None:
    """The worker does it too, unless it was killed."""
    try:
        os.unlink(os.environ["FABER_BRIEFING"])
    except (KeyError, OSError):
        pass


def _signal_below(command: int, number: int) -> None:
    try:
        pids = _below(os.getpid())
    except FileNotFoundError:  # no /proc: the group, which a negative number names, is what we know
        pids = [-command]
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # already gone, or not ours to end


def _below(ancestor: int) -> list[int]:
    parents = {int(name): _parent(name) for name in os.listdir("/proc") if name.isdigit()}
    found, below = {ancestor}, []
    while young := [pid for pid, parent in parents.items() if parent in found]:
        below += young
        found = set(young)
    return below


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return 0
    # The name before it may hold spaces and brackets of its own.
    return int(stat[stat.rindex(b")") + 2 :].split()[1])


if __name__ == "__main__":
    main()
