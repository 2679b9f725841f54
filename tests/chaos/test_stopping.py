"""A site that is asked to end answers whoever is there, and refuses whoever comes."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http import client
from pathlib import Path

import pytest

from tests.chaos.scratch import Scratch, eventually
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

ENDED = 10  # what the product promises
SOON = 15
FORM = "POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf "


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Scratch]:
    with closing(Scratch(seed(tmp_path / "data"))) as scratch:
        scratch.start("web")
        yield scratch


def connected(site: Scratch, said: str) -> socket.socket:
    asking = socket.create_connection(("127.0.0.1", site.port), SOON)
    asking.sendall(said.encode())
    return asking


def is_refused(site: Scratch) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", site.port)) != 0


def heard(asking: socket.socket) -> bytes:
    """All that comes until the site closes the connection; a reset is an error."""
    received = b""
    while some := asking.recv(65536):
        received += some
    return received


def test_who_is_there_is_answered_and_who_comes_is_refused(site: Scratch) -> None:
    assert site.faber
    kept = client.HTTPConnection("127.0.0.1", site.port, timeout=SOON)
    with closing(kept), connected(site, FORM) as slow:
        kept.request("GET", "/login/")
        assert kept.getresponse().read()
        resting = kept.sock
        assert resting, "it is open for the next request"

        site.faber.send_signal(signal.SIGTERM)

        assert eventually(lambda: is_refused(site), within=SOON)
        slow.sendall(b"whole")
        answer = heard(slow)
        assert answer.startswith(b"HTTP/1.1 403")  # it has no cookie
        assert b"\r\nConnection: close\r\n" in answer
        assert heard(resting) == b""
        assert site.faber.wait(ENDED) == 0


def test_a_client_that_never_comes_to_an_end_is_cut_off(site: Scratch) -> None:
    with connected(site, FORM):
        began = time.monotonic()
        site.ask_to_end(signal.SIGTERM)

        assert time.monotonic() - began < ENDED
