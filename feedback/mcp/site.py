"""The site as the tools see it, whichever way they reach it."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """A request after a wait: whether nobody can change it any more, and whether it was waited."""

    request: Json
    is_settled: bool
    had_seat: bool = True


class Site(Protocol):
    """The API's calls that an agent needs; each blocks, and gives the API's JSON."""

    def ask(self, question: Json, *, run_id: str = "") -> Json: ...

    def wait(self, request_id: str, seconds: float) -> WaitResult: ...

    def reply(self, request_id: str, number: int, answer: str) -> Json: ...

    def withdraw(self, request_id: str) -> Json: ...

    def next_step(self, run_id: str) -> Json: ...

    def finish_step(self, run_id: str, finished: Json) -> Json: ...

    def run(self, run_id: str) -> Json: ...

    def pending(self, *, project: str, cursor: str) -> Json: ...


class InThread(Protocol):
    """Does something that blocks, without blocking the others."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Whom a client speaks for, how its calls are made, and how long one of them may take."""

    site: Site
    in_thread: InThread
    patience: float  # seconds to wait for leave to use a tool
    asker: str = ""
    run_id: str = ""  # of the run whose step the client executes, if it does


current: ContextVar[Session] = ContextVar("faber_mcp_session")
