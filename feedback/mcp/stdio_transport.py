"""`faber mcp`: serves the one client that started this process, until it goes."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import NoReturn, TypeVar

import anyio
import anyio.to_thread
from django.db import close_old_connections

from feedback.api import long_poll
from feedback.mcp import tools
from feedback.mcp.site import Session, Site, current

T = TypeVar("T")

# There is one client here and no web server whose threads it could take.
SEATS = 32


def serve(site: Site, *, patience: float, run_id: str) -> NoReturn:
    long_poll.SEATS = threading.BoundedSemaphore(SEATS)
    # Whatever is under way is a transaction; a thread that reads or waits would hold up the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    current.set(Session(site=site, in_thread=_in_thread, patience=patience, run_id=run_id))
    anyio.run(tools.server().run_stdio_async)
    sys.stderr.flush()
    os._exit(0)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(partial(_connected, work), abandon_on_cancel=True)


def _connected(work: Callable[[], T]) -> T:
    """As Django does around a request: a connection that broke meanwhile is opened anew."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
