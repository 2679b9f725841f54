"""Calls to addresses that programs name: over TLS, and never longer than they should last."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.callbacks.outbound import CallFailed
from tests import certificates
from tests.receiver import Receiver, running

HOST = "ci.example"


@pytest.fixture(autouse=True)
def _this_machine(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.0/8")
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: ["127.0.0.1"])


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for HOST and its key, in one file."""
    return certificates.write(tmp_path / "certificate.pem", HOST, "127.0.0.2")


@pytest.fixture
def names_asked_for() -> list[str | None]:
    return []


@pytest.fixture
def secure(certificate: Path, names_asked_for: list[str | None]) -> Iterator[Receiver]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _sock, name, _context: names_asked_for.append(name)
    with running(context) as receiver:
        yield receiver


def test_the_certificate_is_held_against_the_name(
    secure: Receiver,
    certificate: Path,
    names_asked_for: list[str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    assert outbound.post(f"https://{HOST}:{secure.port}/x", {"X-A": "1"}, b"{}") == 204
    with pytest.raises(CallFailed, match="certificate is not valid"):
        outbound.post(f"https://other.example:{secure.port}/x", {}, b"{}")

    (call,) = secure.calls
    assert (call.path, call.body) == ("/x", b"{}")
    assert (call.headers["host"], call.headers["x-a"]) == (f"{HOST}:{secure.port}", "1")
    assert names_asked_for == [HOST, "other.example"]


def test_a_certificate_nobody_trusts_is_not_good(secure: Receiver) -> None:
    with pytest.raises(CallFailed, match="certificate is not valid"):
        outbound.post(f"https://{HOST}:{secure.port}/", {}, b"{}")
    assert secure.calls == []


@pytest.fixture
def plain() -> Iterator[Receiver]:
    with running() as receiver:
        yield receiver


def test_an_answer_that_drips_does_not_keep_a_worker(
    plain: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "WHOLE_SECONDS", 0.3)

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 ")
        try:
            while not plain.stopping.wait(0.02):
                handler.wfile.write(b"a")
        except OSError:
            return

    plain.faults = [drip]

    with pytest.raises(CallFailed):
        outbound.post(f"http://{HOST}:{plain.port}/", {}, b"{}")


def test_a_handshake_that_drips_does_not_keep_a_worker_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbound, "WHOLE_SECONDS", 0.3)
    stopping = threading.Event()

    def drip(listening: socket.socket) -> None:
        caller, _ = listening.accept()
        with caller, contextlib.suppress(OSError):
            caller.sendall(b"\x16\x03\x03\x40\x00")  # the head of a record of 16 KiB
            while not stopping.wait(0.02):
                caller.sendall(b"\x02")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=[listening])
        thread.start()
        try:
            with pytest.raises(CallFailed, match="the connection failed"):
                outbound.post(f"https://{HOST}:{listening.getsockname()[1]}/", {}, b"{}")
        finally:
            stopping.set()
            thread.join()


def test_silence_ends_too(plain: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "READ_SECONDS", 0.2)

    def be_silent(_handler: BaseHTTPRequestHandler) -> None:
        plain.stopping.wait(30)

    plain.faults = [be_silent]

    with pytest.raises(CallFailed, match="timed out"):
        outbound.post(f"http://{HOST}:{plain.port}/", {}, b"{}")


def test_an_endless_body_is_not_read(plain: Receiver) -> None:
    def pour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while not plain.stopping.is_set():
                handler.wfile.write(b"a" * 65536)
        except OSError:
            return

    plain.faults = [pour]

    assert outbound.post(f"http://{HOST}:{plain.port}/", {}, b"{}") == 200


def test_the_next_address_of_a_host_is_tried(
    plain: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: ["127.0.0.99", "127.0.0.1"])

    assert outbound.post(f"http://{HOST}:{plain.port}/", {}, b"{}") == 204


def test_a_host_of_many_dead_addresses_is_given_up(
    plain: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = [f"127.0.0.{number}" for number in range(90, 90 + outbound.MOST_ADDRESSES)]
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: [*dead, "127.0.0.1"])

    with pytest.raises(CallFailed, match="refused"):
        outbound.post(f"http://{HOST}:{plain.port}/", {}, b"{}")
    assert plain.calls == []


def test_an_address_that_takes_nobody_in_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbound, "CONNECT_SECONDS", 0.2)
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):  # more than it has room for
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())

        with pytest.raises(CallFailed, match="timed out"):
            outbound.post(f"http://{HOST}:{full.getsockname()[1]}/", {}, b"{}")
