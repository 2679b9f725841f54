"""What this thread is busy with, for whoever reads its log lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

request_id = ContextVar("request_id", default="")  # of an HTTP request
run_id = ContextVar("run_id", default="")


@contextmanager
def busy_with_run(name: str) -> Iterator[None]:
    token = run_id.set(name)
    try:
        yield
    finally:
        run_id.reset(token)
