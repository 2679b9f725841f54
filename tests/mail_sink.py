"""A mail server that keeps what comes, and fails on order."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(kw_only=True)
class MailSink:
    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)  # one for each of the next mails

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def text_of(self, number: int = -1) -> str:
        body = self.mails[number].get_body(("plain",))
        return str(body.get_content()) if body else ""

    def html_of(self, number: int = -1) -> str:
        body = self.mails[number].get_body(("html",))
        return str(body.get_content()) if body else ""


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    sink: MailSink


class _Conversation(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self._say("220 sink")
        while line := self.rfile.readline():
            word = line.split(None, 1)[0].upper() if line.strip() else b""
            if word == b"DATA":
                self._take()
            elif word == b"RCPT" and self.server.sink.refusals:
                self._say(self.server.sink.refusals.pop(0))
            elif word == b"QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _take(self) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline()).rstrip(b"\r\n") != b".":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = message_from_bytes(b"".join(lines), policy=policy.default)
        self.server.sink.mails.append(mail)
        self._say("250 taken")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def running() -> Iterator[MailSink]:
    sink = MailSink()
    with _Server(("127.0.0.1", 0), _Conversation) as server:
        server.sink, sink.port = sink, server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield sink
        finally:
            server.shutdown()
            thread.join()
