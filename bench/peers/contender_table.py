"""Who is measured: what each needs installed, and how it is told where its store is."""

from dataclasses import dataclass
from enum import StrEnum


class Store(StrEnum):
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    name: str
    store: Store
    needs: tuple[str, ...] = ()  # none: this environment
    scheme: str = ""  # in front of the store's address; its own for each library
    burst: int = 100  # runs at once
    delays: int = 30  # runs one after another
    weighed: int = 200  # paused runs whose bytes are counted
    rounds: int = 1000  # at most

    @property
    def key(self) -> str:
        return f"{self.name} {self.store}"


# Pinned: figures of two dates compare only for the same versions.
LANGGRAPH = (
    "langgraph==1.2.22",
    "langgraph-checkpoint-sqlite==3.1.2",
    "langgraph-checkpoint-postgres==3.2.0",
    "psycopg[binary]==3.3.8",
)
DBOS = ("dbos==3.3.0",)
BURR = ("burr==0.42.0", "psycopg2-binary==2.9.13")
# Its server does not start with the FastAPI that it asks for.
PREFECT = ("prefect==3.8.8", "fastapi==0.139.0")

CONTENDERS = (
    Contender(name="faber", store=Store.SQLITE),
    Contender(name="langgraph", store=Store.SQLITE, needs=LANGGRAPH),
    Contender(name="faber", store=Store.POSTGRESQL),
    Contender(name="langgraph", store=Store.POSTGRESQL, needs=LANGGRAPH),
    Contender(name="dbos", store=Store.SQLITE, needs=DBOS, scheme="sqlite:///", delays=5),
    Contender(name="dbos", store=Store.POSTGRESQL, needs=DBOS),
    Contender(name="burr", store=Store.SQLITE, needs=BURR),
    Contender(name="burr", store=Store.POSTGRESQL, needs=BURR),
    # A process for each start and each answer: three of them say as much as a hundred. On
    # PostgreSQL it wants an extension that the server of the tests does not have.
    Contender(
        name="prefect",
        store=Store.SQLITE,
        needs=PREFECT,
        scheme="sqlite+aiosqlite:///",
        burst=3,
        delays=2,
        weighed=3,
        rounds=2,
    ),
)
