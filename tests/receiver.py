"""A program that wants to be called back: it keeps what came, and fails on order."""

import functools
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    path: str
    headers: dict[str, str]  # with names in small letters
    body: bytes
    method: str = "POST"

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.body)
        return document


Fault = Callable[[BaseHTTPRequestHandler], None]


class Receiver:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.faults: list[int | Fault] = []  # one for each of the next calls
        self.stopping = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/answered?from=faber"

    @property
    def ids(self) -> list[str]:
        return [call.headers["webhook-id"] for call in self.calls]


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, receiver: Receiver, *args: Any) -> None:
        self._receiver = receiver
        super().__init__(*args)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._receiver.calls.append(
            Call(path=self.path, headers=headers, body=body, method=self.command)
        )
        fault = self._receiver.faults.pop(0) if self._receiver.faults else 204
        if isinstance(fault, int):
            self.send_response(fault)
            self.end_headers()
        else:
            fault(self)

    do_PATCH = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""


@contextmanager
def running(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, receiver))
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def redirect_to(address: str) -> Fault:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", address)
        handler.end_headers()

    return redirect


def nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n")
    handler.close_connection = True
