"""Calls a site on any machine through its API, with a token."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlencode

import faber_client
from faber_client import Faber
from feedback.mcp.site import Json, WaitResult
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError

MOST_PENDING = 200


class There:
    """A site at an address; what it refuses is told in its own words."""

    def __init__(self, url: str, token: str) -> None:
        self._faber = _Client(url, token, source=Source.MCP.value)

    def ask(self, question: Json, *, run_id: str = "") -> Json:
        with _told():
            return self._faber.ask(run_id=_part(run_id), **question)

    def wait(self, request_id: str, seconds: float) -> WaitResult:
        with _told():
            return self._faber.wait_or_hear(_part(request_id), seconds)

    def reply(self, request_id: str, number: int, answer: str) -> Json:
        with _told():
            return self._faber.reply(_part(request_id), number, answer)

    def withdraw(self, request_id: str) -> Json:
        with _told():
            return self._faber.withdraw(_part(request_id))

    def next_step(self, run_id: str) -> Json:
        with _told():
            return self._faber.next(_part(run_id))

    def finish_step(self, run_id: str, finished: Json) -> Json:
        with _told():
            return self._faber.finish(_part(run_id), **finished)

    def run(self, run_id: str) -> Json:
        with _told():
            return self._faber.run(_part(run_id))

    def pending(self, *, project: str, cursor: str) -> Json:
        with _told():
            return self._faber.pending_page(project=project, cursor=cursor)


class _Client(Faber):
    """Gives back at once what the client's own methods would go on from."""

    def wait_or_hear(self, request_id: str, seconds: float) -> WaitResult:
        """As the site answers: settled, the time is over, or a reviewer asks something."""
        ends = time.monotonic() + seconds
        while True:
            left = max(0.0, ends - time.monotonic())
            status, headers, document = self._call(
                "GET", f"/requests/{request_id}/wait?timeout={left:.3f}"
            )
            pause = float(headers.get("Retry-After", 0))
            if status == 200 or not pause or left <= 0:
                return WaitResult(request=document, is_settled=status == 200)
            time.sleep(min(pause, left))

    def pending_page(self, **query: str) -> Json:
        wanted = urlencode({"status": "pending", "limit": MOST_PENDING, **query})
        return self._get(f"/requests?{wanted}")


def _part(name: str) -> str:
    """A name as a part of an address, whatever a model put into it."""
    return quote(name, safe="/", errors="replace")


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except faber_client.FaberError as error:
        refused = FaberError(str(error), **error.details)
        refused.code = error.code or "error"
        raise refused from error
    except faber_client.Unreachable as error:
        refused = FaberError(f"Could not reach FABER. {error}")
        refused.code = "unreachable"
        raise refused from error
