"""DBOS: a workflow of five steps that receives its answer after the second."""

import sys
import threading
import time
import uuid
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from bench.peers.talk import serve

STEPS = ("one", "two", "three", "four", "five")
_ARRIVED = threading.Semaphore(0)


@DBOS.step()  # type: ignore[untyped-decorator]
def note(name: str) -> dict[str, object]:
    return {"step": name, "at": time.time()}


@DBOS.workflow()  # type: ignore[untyped-decorator]
def flow() -> list[dict[str, object]]:
    notes = [note(name) for name in STEPS[:2]]
    _ARRIVED.release()
    assert DBOS.recv("answer", timeout_seconds=600) == "approve"
    return [*notes, *(note(name) for name in STEPS[2:])]


class Dbos:
    def __init__(self) -> None:
        self._waiting: list[Any] = []

    def pause(self, count: int) -> None:
        for _ in range(count):
            with SetWorkflowID(uuid.uuid4().hex):
                self._waiting.append(DBOS.start_workflow(flow))
        for _ in range(count):
            _ARRIVED.acquire()

    def finish(self) -> None:
        for handle in self._waiting:
            DBOS.send(handle.workflow_id, "approve", "answer")
        for handle in self._waiting:
            assert len(handle.get_result()) == len(STEPS)
        self._waiting.clear()

    def delay(self) -> float:
        self.pause(1)
        time.sleep(0.05)  # it arrives where it waits; a person takes longer
        handle = self._waiting.pop()
        issued = time.time()
        DBOS.send(handle.workflow_id, "approve", "answer")
        return float(handle.get_result()[2]["at"]) - issued


def main() -> None:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": sys.argv[1],
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    serve(Dbos(), "dbos")
    DBOS.destroy()


if __name__ == "__main__":
    main()
