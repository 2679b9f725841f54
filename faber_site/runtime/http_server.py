"""The HTTP server: whole requests in, whole answers out, so that no thread waits for a client."""

import math
import resource
import select
import socket
import time
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

from faber_site.runtime import before_body
from faber_site.runtime.address import BACKLOG
from feedback.api.long_poll import IS_ENDING
from feedback.channels.trackers import webhooks

THREADS = 8
CONNECTIONS = 1000
# Seconds for the headers, and for the first byte of a new connection.
HEADERS = 20.0
# Seconds for a body or an answer, and one more for each SLOWEST bytes of it that went through.
BODY = 30.0
ANSWER = 60.0
SLOWEST = 4_000
# Longer than proxies keep an unused connection, so that they never send into a closed one.
KEEP_ALIVE = 75.0
# Who was refused may still be sending, and would see a broken connection instead of the answer.
LINGER = 3.0
# Bytes of all bodies that are under way; they lie in temporary files.
MOST_UNDER_WAY = 256 * 1024 * 1024
# Between being asked to end and ending whatever is under way.
GRACE = 3.0
# How much of that a connection has on which nothing is asked: a proxy may be about to use it.
LAST_CALL = 1.0

_FILES = 8192


class _Answered:
    """An answer of ours where waitress expects one of its errors."""

    def __init__(self, response: HttpResponse) -> None:
        self._response = response

    def to_response(self, _ident: str) -> tuple[str, list[tuple[str, str]], bytes]:
        status = f"{self._response.status_code} {self._response.reason_phrase}"
        return status, list(self._response.items()), self._response.content


class BufferedRequest(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began = time.monotonic()
        self.error: object = None
        self._longest: int | None = None  # until the headers are there

    def received(self, data: bytes) -> int:
        taken: int = super().received(data)
        if (refusal := self._refusal()) is not None:
            self.error = _Answered(refusal)
            self.completed = True
            self.expect_continue = False
        return taken

    def _refusal(self) -> HttpResponse | None:
        if not self.headers_finished or self.error is not None or self.empty:
            return None
        if self._longest is None:
            self._longest = before_body.longest_body(self.path)
            refusal = before_body.refusal(self.path, self.query or "", self.headers)
            if refusal is not None:
                return refusal
        is_too_long = max(self.content_length, self.body_bytes_received) > self._longest
        return before_body.too_long(self.path) if is_too_long else None

    def is_overdue(self, now: float) -> bool:
        patience = HEADERS
        if self.headers_finished:
            patience += BODY + self.body_bytes_received / SLOWEST
        return now - self.began > patience


class Answering(WSGITask):  # type: ignore[misc]
    def get_environment(self) -> dict[str, Any]:
        server = self.channel.server
        return {**super().get_environment(), IS_ENDING: lambda: server.is_ending}

    def build_response_header(self) -> bytes:
        if self.channel.server.is_ending:
            self.request.headers["CONNECTION"] = "close"  # as if the client had wished for it
        header: bytes = super().build_response_header()
        return header


class Connection(HTTPChannel):  # type: ignore[misc]
    parser_class = BufferedRequest
    task_class = Answering

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._rests_since = time.monotonic()
        self._has_asked = False
        self._answering_since = 0.0  # not answering
        self._sent = 0
        self._lingers_until = 0.0  # does not linger
        self._was_refused = False
        super().__init__(*args, **kwargs)

    @property
    def under_way(self) -> int:
        """How much of a body has come that is not whole yet."""
        return self.request.body_bytes_received if self.request else 0

    @property
    def waits_for_client(self) -> bool:
        return not self.requests and not self.total_outbufs_len

    @property
    def rests(self) -> bool:
        return self.waits_for_client and self.request is None

    @property
    def age(self) -> float:
        return time.monotonic() - (self.request.began if self.request else self._rests_since)

    def is_overdue(self, now: float) -> bool:
        if self._lingers_until:
            return now > self._lingers_until
        if self.total_outbufs_len:
            self._answering_since = self._answering_since or now
            return now - self._answering_since > ANSWER + self._sent / SLOWEST
        self._answering_since, self._sent = 0.0, 0
        if self.requests:
            return False
        if self.request:
            return bool(self.request.is_overdue(now))
        return now - self._rests_since > (KEEP_ALIVE if self._has_asked else HEADERS)

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent: int = super().send(data, do_close)
        self._sent += sent
        return sent

    def service(self) -> None:
        self._was_refused = isinstance(self.requests[0].error, _Answered)
        super().service()
        self._rests_since, self._has_asked = time.monotonic(), True

    def readable(self) -> bool:
        return bool(self._lingers_until) or super().readable()

    def writable(self) -> bool:
        return super().writable() and not (self._lingers_until and not self.will_close)

    def handle_read(self) -> None:
        if not self._lingers_until:
            super().handle_read()
            return
        try:
            if not self.recv(self.adj.recv_bytes):
                self.will_close = True
        except OSError:
            self.will_close = True

    def handle_close(self) -> None:
        if self._was_refused and self.connected and not self._lingers_until:
            self._lingers_until = time.monotonic() + LINGER
            self.will_close = self.close_when_flushed = False
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                super().handle_close()
        else:
            super().handle_close()


class Server(TcpWSGIServer):  # type: ignore[misc]
    channel_class = Connection

    def __init__(self, application: Callable[..., Any], listener: socket.socket) -> None:
        self._ends_at = math.inf
        self._next_look = 0.0
        dispatcher = ThreadedTaskDispatcher()
        dispatcher.set_thread_count(THREADS)
        name = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            application,
            _sock=listener,
            dispatcher=dispatcher,
            adj=_adjustments(),
            bind_socket=False,
            sockinfo=name,
        )

    @property
    def is_ending(self) -> bool:
        return self._ends_at < math.inf

    def serve(self) -> None:
        """Return when asked to end, once what was under way is answered or took too long."""
        while not self.is_ending:
            self._look(timeout=1)
        self._admit_the_last()
        last_call = self._ends_at - GRACE + LAST_CALL
        while self.active_channels and (now := time.monotonic()) < self._ends_at:
            self._look(timeout=0.1)
            if now >= last_call:
                self._dismiss_the_resting()

    def _look(self, timeout: float) -> None:
        self.asyncore.loop(timeout=timeout, map=self._map, use_poll=True, count=1)
        # Between two rounds: within one, another connection could get a closed one's number.
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 1
            self._drop_overdue()

    def end(self) -> None:
        """May be called by a signal."""
        self._ends_at = min(self._ends_at, time.monotonic() + GRACE)
        self.pull_trigger()

    def _admit_the_last(self) -> None:
        """Whoever is connected already would see a reset; whoever comes now is refused, or waits
        for the next process if somebody else holds the socket too."""
        queue = select.poll()
        queue.register(self.socket, select.POLLIN)
        for _ in range(BACKLOG):
            if not queue.poll(0):
                break
            super().handle_accept()  # nobody has to make room: none of them comes after these
        self.asyncore.dispatcher.close(self)

    def _dismiss_the_resting(self) -> None:
        """Right after a round that took what had come: whatever comes later is too late."""
        for each in list(self.active_channels.values()):
            if each.rests:
                each.handle_close()

    def handle_accept(self) -> None:
        if len(self.active_channels) >= CONNECTIONS:
            self._drop_oldest()
        super().handle_accept()

    def _drop_oldest(self) -> None:
        """Whoever has kept us waiting longest makes room in the next round: the silent must not
        keep others out."""
        open_ones = self.active_channels.values()
        waiting = [each for each in open_ones if each.waits_for_client and not each.will_close]
        if waiting:
            max(waiting, key=lambda each: each.age).will_close = True

    def maintenance(self, now: float) -> None:
        """Not waitress' own: it never closes a connection whose client has stopped reading."""

    def _drop_overdue(self) -> None:
        now = time.monotonic()
        open_ones = list(self.active_channels.values())
        excess = sum(each.under_way for each in open_ones) - MOST_UNDER_WAY
        for each in sorted(open_ones, key=lambda each: -each.under_way):
            if excess > 0:
                excess -= each.under_way
                each.handle_close()
            elif each.is_overdue(now):
                each.handle_close()


def _adjustments() -> Adjustments:
    return Adjustments(
        threads=THREADS,
        backlog=BACKLOG,
        connection_limit=2 * CONNECTIONS,  # never reached: room is made before
        max_request_header_size=64 * 1024,
        max_request_body_size=2 * webhooks.LARGEST,  # never reached: `before_body` says less
        # Held in memory up to here, above in temporary files.
        inbuf_overflow=256 * 1024,
        outbuf_overflow=256 * 1024,
        outbuf_high_watermark=64 * 1024 * 1024,
        log_socket_errors=False,
        # Whose word counts is decided in `runs.accounts.client_address`.
        clear_untrusted_proxy_headers=False,
        ident="",
    )


def allow_many_files() -> None:
    """A connection is a file, and so is what is buffered for it; the usual 1024 are too few."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
