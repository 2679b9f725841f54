"""What two hundred clients that send a byte a second do to everybody else: nothing."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from tests.chaos.scratch import Scratch, eventually
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

MANY = 200
SOON = 15
SIGNED = f"X-Hub-Signature-256: sha256={'0' * 64}\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    settings = {"FABER_GITHUB_WEBHOOK_SECRET": "a secret of this test"}
    with closing(Scratch(seed(tmp_path_factory.mktemp("slow")), settings)) as scratch:
        scratch.start("web")
        yield scratch


@contextmanager
def dripping(site: Scratch, beginning: str) -> Iterator[None]:
    """Many clients that began a request and go on with a byte a second."""
    over = threading.Event()
    with ExitStack() as opened:
        clients = [
            opened.enter_context(socket.create_connection(("127.0.0.1", site.port), 10))
            for _ in range(MANY)
        ]
        for each in clients:
            each.sendall(beginning.encode())

        def drip() -> None:
            while not over.wait(1):
                for each in clients:
                    with suppress(OSError):  # the site may have had enough of it
                        each.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", id="headers"),
        pytest.param(
            "POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n", id="form"
        ),
        pytest.param(
            "POST /github/webhook HTTP/1.1\r\nHost: localhost\r\n"
            f"{SIGNED}Content-Length: 9999\r\n\r\n",
            id="webhook",
        ),
    ],
)
def test_others_are_answered_while_two_hundred_clients_drip(site: Scratch, beginning: str) -> None:
    with dripping(site, beginning):
        for path in ("/healthz", "/login/") * 3:
            assert eventually(lambda path=path: site.answers(path), within=SOON)  # type: ignore[misc]


def test_the_site_ends_although_two_hundred_clients_drip(site: Scratch) -> None:
    with dripping(site, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "):
        before = site.leader("web")
        before.kill(15)

        assert eventually(lambda: before.pid not in site.pids(), within=SOON)
        assert eventually(lambda: site.answers("/healthz"), within=SOON)
