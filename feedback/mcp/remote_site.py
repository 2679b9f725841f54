"""Calls a site on any machine through its API, with a token."""

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
            settled = self._faber.wait(_part(request_id), seconds)
            if settled is not None:
                return WaitResult(request=settled, is_settled=True)
            return WaitResult(request=self._faber.request(_part(request_id)), is_settled=False)

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
    """Gives a single page where the client's own method walks through them all."""

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
