"""LangGraph: five nodes, and between the second and the third one that interrupts for approval.

So its documentation has it, and so the answer is on disk before the third step runs, as ours is.
"""

import operator
import sys
import time
import uuid
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from bench.peers.talk import serve

STEPS = ("one", "two", "three", "four", "five")
NODES = ("one", "two", "approval", "three", "four", "five")


class State(TypedDict):
    notes: Annotated[list[dict[str, object]], operator.add]


def approval(_state: State) -> dict[str, object]:
    assert interrupt("go on?") == "approve"
    return {}


def step(name: str) -> Any:
    def note(_state: State) -> dict[str, object]:
        return {"notes": [{"step": name, "at": time.time()}]}

    return note


class LangGraph:
    def __init__(self, saver: Any) -> None:
        graph = StateGraph(State)
        for name in NODES:
            graph.add_node(name, step(name) if name in STEPS else approval)
        for before, after in pairwise((START, *NODES, END)):
            graph.add_edge(before, after)
        self._graph: Any = graph.compile(checkpointer=saver)
        self._waiting: list[str] = []

    def pause(self, count: int) -> None:
        for _ in range(count):
            thread = uuid.uuid4().hex
            self._invoke({"notes": []}, thread)
            self._waiting.append(thread)

    def finish(self) -> None:
        for thread in self._waiting:
            found = self._invoke(Command(resume="approve"), thread)
            assert len(found["notes"]) == len(STEPS)
        self._waiting.clear()

    def delay(self) -> float:
        self.pause(1)
        issued = time.time()
        found = self._invoke(Command(resume="approve"), self._waiting.pop())
        return float(found["notes"][2]["at"]) - issued

    def _invoke(self, given: object, thread: str) -> Any:
        config = {"configurable": {"thread_id": thread}}
        return self._graph.invoke(given, config, durability="sync")


def main() -> None:
    address = sys.argv[1]
    kind: Any = PostgresSaver if address.startswith("postgres") else SqliteSaver
    with kind.from_conn_string(address) as saver:
        saver.setup()
        serve(
            LangGraph(saver),
            "langgraph",
            "langgraph-checkpoint-sqlite",
            "langgraph-checkpoint-postgres",
        )


if __name__ == "__main__":
    main()
