"""What the HTTP server does with clients that are slow, silent, too large or not welcome."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http import client
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from faber_site.runtime import http_server
from faber_site.runtime.http_server import Server
from feedback.api.long_poll import IS_ENDING
from tests.chaos.scratch import eventually

LARGE = 4 * 1024 * 1024
HUGE = 32 * 1024 * 1024  # more than the kernel keeps for a connection
SIGNED = {"X-Hub-Signature-256": f"sha256={'0' * 64}"}

SIZES = {"/large": LARGE, "/huge": HUGE}

App = Callable[[dict[str, Any], Callable[..., Any]], list[bytes]]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Tells who asks and how much came with it; a page whose path says so is large."""
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] in SIZES:
        return [b"." * SIZES[environ["PATH_INFO"]]]
    forwarded = environ.get("HTTP_X_FORWARDED_FOR", "nobody")
    return [f"{environ['REMOTE_ADDR']} for {forwarded}: {len(body)} bytes".encode()]


@contextmanager
def made(app: App = application, host: str = "127.0.0.1") -> Iterator[Server]:
    """One that somebody else has serve."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = Server(app, socket.create_server((host, 0), family=family))
    try:
        yield server
    finally:
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(server._map)


@contextmanager
def served(app: App = application, host: str = "127.0.0.1") -> Iterator[Server]:
    with made(app, host) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.end()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with served() as server:
        yield server


def connected(server: Server) -> socket.socket:
    return socket.create_connection((server.effective_host, int(server.effective_port)), 20)


def asked(
    server: Server, path: str = "/", body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    asking = client.HTTPConnection(server.effective_host, int(server.effective_port), timeout=20)
    with closing(asking):
        asking.request("POST" if body else "GET", path, body or None, headers or {})
        answer = asking.getresponse()
        return answer.status, answer.read().decode()


def begun(
    server: Server, *, path: str = "/", length: int = 100_000, more: str = ""
) -> socket.socket:
    """A request whose headers are there and whose body is not."""
    client = connected(server)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n"
    client.sendall(head.encode())
    return client


def heard(client: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    received = b""
    with client:
        try:
            while some := client.recv(65536):
                received += some
        except ConnectionResetError:
            pass
    return received


def test_bodies_that_never_end_take_no_thread(server: Server) -> None:
    with ExitStack() as many:
        for _ in range(3 * http_server.THREADS):
            slow = many.enter_context(begun(server))
            slow.sendall(b"one byte of many")

        assert asked(server, body=b"whole") == (200, "127.0.0.1 for nobody: 5 bytes")


def test_answers_that_nobody_reads_take_no_thread(server: Server) -> None:
    with ExitStack() as many:
        for _ in range(2 * http_server.THREADS):
            slow = many.enter_context(connected(server))
            slow.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")

        assert asked(server)[0] == 200


def test_headers_that_take_too_long_end_the_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEADERS", 0.1)
    silent, dripping = connected(server), connected(server)
    dripping.sendall(b"GET / HTTP/1.1\r\nHost:")

    assert (heard(silent), heard(dripping)) == (b"", b"")


def test_a_body_that_takes_too_long_ends_the_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    dripping = begun(server)
    # Before its headers are there, it is their deadline that would end it.
    assert eventually(lambda: any(map(has_headers, server.active_channels.values())), within=20)

    monkeypatch.setattr(http_server, "HEADERS", 0.0)
    monkeypatch.setattr(http_server, "BODY", 0.1)

    assert heard(dripping) == b""


def has_headers(connection: http_server.Connection) -> bool:
    return bool(connection.request and connection.request.headers_finished)


def test_an_answer_that_nobody_reads_is_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "ANSWER", 0.1)
    monkeypatch.setattr(http_server, "SLOWEST", HUGE)
    with connected(server) as unread:
        unread.sendall(b"GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert eventually(lambda: server.active_channels, within=20)

        assert eventually(lambda: not server.active_channels, within=20)


def test_a_connection_that_is_kept_may_rest(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEADERS", 0.5)
    kept = client.HTTPConnection(server.effective_host, int(server.effective_port), timeout=20)
    with closing(kept):
        kept.request("GET", "/")
        assert kept.getresponse().read()
        assert heard(connected(server)) == b"", "one that never asked is closed meanwhile"

        kept.request("GET", "/")
        assert kept.getresponse().status == 200


def test_the_silent_make_room(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "CONNECTIONS", 5)
    with ExitStack() as many:
        silent = [many.enter_context(connected(server)) for _ in range(5)]

        assert asked(server)[0] == 200
        assert heard(silent[0]) == b"", "whoever was silent longest had to go"


def test_bodies_under_way_have_a_common_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MOST_UNDER_WAY", 150_000)
    with begun(server, length=200_000) as small, begun(server, length=200_000) as large:
        small.sendall(b"x" * 50_000)
        large.sendall(b"x" * 110_000)

        assert heard(large) == b""
        small.sendall(b"x" * 150_000)
        assert small.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    ("secret", "signature", "status"),
    [
        ("", SIGNED["X-Hub-Signature-256"], 503),
        ("a secret", "", 401),
        ("a secret", "sha256=short", 401),
        ("a secret", f"sha1={'0' * 64}", 401),
    ],
)
def test_an_unsigned_webhook_is_refused_before_its_body_comes(
    server: Server, settings: Settings, secret: str, signature: str, status: int
) -> None:
    settings.FABER_GITHUB_WEBHOOK_SECRET = secret
    more = f"X-Hub-Signature-256: {signature}\r\nExpect: 100-continue\r\n"

    with begun(server, path="/github/webhook", more=more) as waiting:
        assert waiting.recv(12) == f"HTTP/1.1 {status}".encode()


def test_a_signed_webhook_may_be_large(server: Server, settings: Settings) -> None:
    settings.FABER_GITHUB_WEBHOOK_SECRET = "a secret"

    answer = asked(server, "/github/webhook", b"x" * LARGE, SIGNED)

    assert answer == (200, f"127.0.0.1 for nobody: {LARGE} bytes")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/login/", "The request is too large"),
        ("/api/v1/requests", '"too_large"'),
        ("/mcp", '"too_large"'),
    ],
)
def test_who_sends_too_much_still_reads_why_not(server: Server, path: str, sentence: str) -> None:
    status, said = asked(server, path, b"x" * LARGE)

    assert status == 413
    assert sentence in said


def test_a_body_without_a_length_has_the_same_limit(server: Server) -> None:
    with connected(server) as chunked:
        chunked.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(LARGE // 65536):
            chunked.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        chunked.sendall(b"0\r\n\r\n")

        assert chunked.recv(12) == b"HTTP/1.1 413"


def test_what_follows_a_refused_request_is_no_request(server: Server) -> None:
    with begun(server, length=LARGE, more="X: y\r\n") as smuggling:
        smuggling.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        smuggling.shutdown(socket.SHUT_WR)

        assert heard(smuggling).count(b"HTTP/1.1 ") == 1


def test_the_address_is_that_of_the_connection_whatever_it_claims(server: Server) -> None:
    said = asked(server, headers={"X-Forwarded-For": "192.0.2.1", "Remote-Addr": "192.0.2.2"})

    assert said == (200, "127.0.0.1 for 192.0.2.1: 0 bytes")


def test_it_serves_ipv6_too() -> None:
    with served(host="::1") as server:
        assert asked(server)[1].startswith("::1 for nobody")


def test_asked_to_end_it_finishes_what_is_under_way() -> None:
    is_computing, may_go_on = threading.Event(), threading.Event()

    def slow(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        is_computing.set()
        may_go_on.wait(20)
        return application(environ, start_response)

    answers: list[tuple[int, str]] = []
    with served(slow) as server:
        asking = threading.Thread(target=lambda: answers.append(asked(server)))
        asking.start()
        is_computing.wait(20)
        server.end()
        may_go_on.set()
        asking.join()

    assert answers == [(200, "127.0.0.1 for nobody: 0 bytes")]


def test_a_body_that_was_on_its_way_when_it_was_asked_to_end_is_answered() -> None:
    with served() as server, begun(server, length=5) as slow:
        assert eventually(lambda: any(map(has_headers, server.active_channels.values())), within=20)
        server.end()
        slow.sendall(b"whole")

        assert heard(slow).endswith(b"127.0.0.1 for nobody: 5 bytes")


def test_who_was_connected_before_it_was_asked_to_end_is_answered_and_later_ones_refused() -> None:
    with made() as server:
        early = connected(server)
        early.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.end()
        server.serve()

        assert heard(early).startswith(b"HTTP/1.1 200")
        with pytest.raises(ConnectionRefusedError):
            connected(server)


def test_nobody_makes_room_for_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "CONNECTIONS", 2)
    with made() as server, ExitStack() as open_ones:
        early = [open_ones.enter_context(connected(server)) for _ in range(5)]
        for each in early:
            each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.end()
        server.serve()

        assert [heard(each)[:12] for each in early] == [b"HTTP/1.1 200"] * 5


def test_the_last_answer_says_that_nothing_more_may_be_asked() -> None:
    with served() as server:
        kept = client.HTTPConnection(server.effective_host, int(server.effective_port), timeout=20)
        with closing(kept):
            kept.request("GET", "/")
            before = kept.getresponse()
            assert (before.status, before.getheader("Connection")) == (200, None)
            before.read()
            server.end()
            kept.request("GET", "/")
            last = kept.getresponse()

            assert (last.status, last.getheader("Connection")) == (200, "close")


def test_a_connection_that_rests_is_closed_without_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "LAST_CALL", 0.1)
    with served() as server, connected(server) as resting:
        resting.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with client.HTTPResponse(resting) as answer:
            answer.begin()
            assert answer.status == 200
            answer.read()
        server.end()

        assert resting.recv(1) == b""


def test_a_slow_client_does_not_keep_it_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "GRACE", 0.3)
    with made() as server, begun(server):
        serving = threading.Thread(target=server.serve)
        serving.start()
        assert eventually(lambda: any(map(has_headers, server.active_channels.values())), within=20)
        server.end()
        serving.join(2)

        assert not serving.is_alive()


def test_an_application_hears_that_it_has_to_come_to_an_end() -> None:
    is_computing = threading.Event()

    def patient(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        is_computing.set()
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"early" if eventually(environ[IS_ENDING], within=20) else b"too late"]

    with served(patient) as server, connected(server) as waiting:
        waiting.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        is_computing.wait(20)
        server.end()

        assert b"early" in heard(waiting)
