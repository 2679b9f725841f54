"""Prefect: a served flow of five tasks that suspends itself after the second.

Its server and its runner are started here; the runner looks for work every second, not every ten.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.peers.talk import serve

STEPS = ("one", "two", "three", "four", "five")
PAUSE = 0.2
SETTINGS = {
    "PREFECT_RUNNER_POLL_FREQUENCY": "1",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "503",
}


class Prefect:
    def __init__(self) -> None:
        self._waiting: list[UUID] = []

    def pause(self, count: int) -> None:
        from prefect.deployments import run_deployment  # noqa: PLC0415  after the settings

        begun = [run_deployment("five-steps/bench", timeout=0) for _ in range(count)]
        self._waiting = [each.id for each in begun]
        self._until("PAUSED")

    def finish(self) -> None:
        from prefect.flow_runs import resume_flow_run  # noqa: PLC0415

        for flow_run in self._waiting:
            resume_flow_run(flow_run)
        self._until("COMPLETED")

    def delay(self) -> float:
        self.pause(1)
        issued = time.time()
        self.finish()
        state = _state_of(self._waiting[0])
        return float(state.result()[2]["at"]) - issued

    def _until(self, kind: str) -> None:
        deadline = time.monotonic() + 300
        while any(_state_of(each).type.value != kind for each in self._waiting):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not every flow run is {kind}")
            time.sleep(PAUSE)


def _state_of(flow_run: UUID) -> Any:
    from prefect.client.orchestration import get_client  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        return client.read_flow_run(flow_run).state


def run_flows() -> None:
    """What the runner's process does."""
    from prefect import flow, task  # noqa: PLC0415
    from prefect.flow_runs import suspend_flow_run  # noqa: PLC0415

    @task(persist_result=True)  # type: ignore[untyped-decorator]
    def note(name: str) -> dict[str, object]:
        return {"step": name, "at": time.time()}

    @flow(name="five-steps", persist_result=True)  # type: ignore[untyped-decorator]
    def five_steps() -> list[dict[str, object]]:
        notes = [note(name) for name in STEPS[:2]]
        suspend_flow_run(timeout=3600)
        return [*notes, *(note(name) for name in STEPS[2:])]

    five_steps.serve(name="bench", print_starting_message=False)


@contextmanager
def processes(folder: Path) -> Iterator[None]:
    """Its server, and the runner that starts a process for each flow run."""
    port = _free_port()
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    log = (folder / "prefect.log").open("ab")
    prefect = [sys.executable, "-m", "prefect"]
    server = [*prefect, "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    runner = [sys.executable, "-m", "bench.peers.contenders.prefect", "runner"]
    with subprocess.Popen(server, stdout=log, stderr=log) as one:
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/health")
            with subprocess.Popen(runner, stdout=log, stderr=log) as other:
                try:
                    yield
                finally:
                    other.terminate()
        finally:
            one.terminate()


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310  our own
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
    raise TimeoutError("the server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    if sys.argv[1] == "runner":
        run_flows()
        return
    folder = Path(sys.argv[2])
    home = {"PREFECT_HOME": str(folder), "PREFECT_API_DATABASE_CONNECTION_URL": sys.argv[1]}
    os.environ.update(SETTINGS, **home)
    with processes(folder):
        time.sleep(5)  # the deployment registers itself
        serve(Prefect(), "prefect")


if __name__ == "__main__":
    main()
