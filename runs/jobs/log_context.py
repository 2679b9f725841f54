"""What this thread is busy with, for whoever reads its log lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

request_id = ContextVar("request_id", default="")  # of an HTTP request
run_id = ContextVar("run_id", default="")


@contextmanager
def busy_with_run(name: str = "") -> Iterator[None]:
    """With this run, or with those that are noted meanwhile."""
    token = run_id.set(name)
    try:
        yield
    finally:
        run_id.reset(token)


def note_run(name: str) -> None:
    """Whoever finds a run is busy with it, until its request or its job ends."""
    run_id.set(name)


def forget_run() -> None:
    run_id.set("")


def marks() -> str:
    """As they end a line for people."""
    known = {"run": run_id.get(), "request": request_id.get()}
    told = ", ".join(f"{what} {name}" for what, name in known.items() if name)
    return f" ({told})" if told else ""
