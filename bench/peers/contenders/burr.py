"""Burr: five actions, the state written after each; whoever answers goes on with the rest."""

import sys
import time
import uuid
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from burr.core import ApplicationBuilder, State, action
from burr.core.persistence import SQLitePersister
from burr.integrations.persisters.b_psycopg2 import PostgreSQLPersister

from bench.peers.talk import serve

STEPS = ("one", "two", "three", "four", "five")


def step(name: str) -> Any:
    @action(reads=["notes"], writes=["notes"])  # type: ignore[untyped-decorator]
    def note(state: State[Any]) -> State[Any]:
        return state.append(notes={"step": name, "at": time.time()})

    return note


class Burr:
    def __init__(self, store: Any) -> None:
        self._store = store
        self._waiting: list[str] = []

    def pause(self, count: int) -> None:
        for _ in range(count):
            name = uuid.uuid4().hex
            self._application(name).run(halt_after=["two"])
            self._waiting.append(name)

    def finish(self) -> None:
        for name in self._waiting:
            self._go_on(name)
        self._waiting.clear()

    def delay(self) -> float:
        self.pause(1)
        issued = time.time()
        return float(self._go_on(self._waiting.pop())[2]["at"]) - issued

    def _go_on(self, name: str) -> Any:
        _, _, state = self._application(name).run(halt_after=["five"])
        assert len(state["notes"]) == len(STEPS)
        return state["notes"]

    def _application(self, name: str) -> Any:
        return (
            ApplicationBuilder()
            .with_actions(**{each: step(each) for each in STEPS})
            .with_transitions(*pairwise(STEPS))
            .initialize_from(
                self._store,
                resume_at_next_action=True,
                default_state={"notes": []},
                default_entrypoint="one",
            )
            .with_state_persister(self._store)
            .with_identifiers(app_id=name, partition_key="bench")  # its PostgreSQL wants one
            .build()
        )


def store(address: str) -> Any:
    if not address.startswith("postgres"):
        return SQLitePersister(address)
    at = urlsplit(address)
    return PostgreSQLPersister.from_values(
        db_name=at.path.lstrip("/"),
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        host=at.hostname or parse_qs(at.query)["host"][0],
        port=at.port or 5432,
    )


def main() -> None:
    kept = store(sys.argv[1])
    kept.initialize()
    serve(Burr(kept), "burr")


if __name__ == "__main__":
    main()
