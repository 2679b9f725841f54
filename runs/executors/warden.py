"""Stands between a worker and a step's command, so that the whole step ends with the worker.

Run as a script: `python -I -S warden.py SOCKET COMMAND…`. On the socket it says `started PID`,
`failed ERRNO`, `fenced 1` or `ended STATUS`. The worker says `end`, which asks everything below to
end, and `hold MOMENT SECONDS`: from that moment on, by the monotonic clock, somebody else may have
the step, so everything below stands still; after so many seconds without a later moment it is
killed. The end of the worker's side, which also comes when the worker is killed, kills it.
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
INFINITY = float("inf")
LATE = 1.0  # who wakes later than this was stopped too, or the whole machine was
WAKING = 10.0  # and then so long it waits for its worker, which has to wake up as well


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
    if _Hold(worker, command).is_over():
        _tell(worker, "fenced", 1)
    while True:
        _signal_below(command, _signal.SIGKILL)
        time.sleep(0.02)


class _Hold:
    """For how long the step below is the worker's: without its word nothing goes on."""

    def __init__(self, worker: int, command: int) -> None:
        import select  # noqa: PLC0415 - the command has begun by now

        self._worker, self._command = worker, command
        self._until, self._patience = INFINITY, 0.0  # for as long as the worker lives
        self._ends_at = INFINITY  # when everything below stands still
        self._words = b""
        self._ears = select.poll()
        self._ears.register(worker, select.POLLIN)

    def is_over(self) -> bool:
        """Wait for the end of the hold; false when the worker itself is gone."""
        while True:
            if self._ears.poll(self._pause()):
                if not self._hear():
                    return False
            elif time.monotonic() >= self._next and self._ran_out():
                return True

    @property
    def _next(self) -> float:
        return min(self._ends_at, self._until)

    def _pause(self) -> float | None:
        # Rounded up: a wait that ends early would be none at all, again and again.
        return max(0.0, self._next - time.monotonic()) * 1000 + 1 if self._next < INFINITY else None

    def _hear(self) -> bool:
        try:
            words = os.read(self._worker, 4096)
        except OSError:
            words = b""  # reset instead of closed, when the worker died with our words unread
        *lines, self._words = (self._words + words).split(b"\n")
        for line in lines:
            word, *numbers = line.split()
            if word == b"end":
                _signal_below(self._command, _signal.SIGTERM)
            else:
                self._until, self._patience = map(float, numbers)
                self._go_on_or_stand_still()
        return bool(words)

    def _go_on_or_stand_still(self) -> None:
        now = time.monotonic()
        if self._until <= now:
            self._stand_still(now)  # maybe with more patience than before
        elif self._ends_at < INFINITY:
            self._ends_at = INFINITY
            _signal_below(self._command, _signal.SIGCONT)

    def _stand_still(self, now: float) -> None:
        # Also a word that was sent before a sleep and heard after it.
        if now > self._next + LATE:
            self._patience = max(self._patience, WAKING)
        if self._ends_at == INFINITY:
            _stop_below(self._command)
        self._until, self._ends_at = INFINITY, now + self._patience

    def _ran_out(self) -> bool:
        """Whether the worker had its chance to say otherwise, and did not."""
        now = time.monotonic()
        had_its_chance = self._ends_at <= now <= self._ends_at + LATE
        if not had_its_chance:
            self._stand_still(now)
        return had_its_chance


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
    """The worker does it too, unless it was killed; beside it may be a door."""
    briefing = os.environ.get("FABER_BRIEFING", "")
    for file in (briefing, briefing.removesuffix(".json") + ".mcp"):
        try:
            os.unlink(file)
        except OSError:
            pass


def _signal_below(command: int, number: int) -> int:
    try:
        pids = _below(os.getpid())
    except FileNotFoundError:  # no /proc: the group, which a negative number names, is what we know
        pids = [-command]
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # already gone, or not ours to end
    return len(pids)


def _stop_below(command: int) -> None:
    """Whatever started something while it was being stopped is stopped with it."""
    seen = -1
    while seen != (seen := _signal_below(command, _signal.SIGSTOP)):
        pass


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
