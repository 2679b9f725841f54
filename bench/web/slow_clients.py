"""How long a probe and a page take while 200 clients send a byte a second, and without them."""

import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http import client
from urllib.parse import urlsplit

from bench.ground.scratch_site import scratch_site

CLIENTS = 200
SECONDS = 8
SETTINGS = {"FABER_GITHUB_WEBHOOK_SECRET": "of this measurement"}
POST = "POST {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: 9999\r\n\r\n"
SIGNED = f"X-Hub-Signature-256: sha256={'0' * 64}\r\n"
BEGINNINGS: dict[str, list[str]] = {
    "nobody": [],
    "headers": ["GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "],
    "bodies": [POST.format("/login/", ""), POST.format("/github/webhook", SIGNED)],
}


def main() -> None:
    with scratch_site(**SETTINGS) as site:
        port = urlsplit(site.url).port or 80
        print(json.dumps({name: _measured(port, name) for name in BEGINNINGS}))


def _measured(port: int, name: str) -> dict[str, float]:
    with _dripping(port, BEGINNINGS[name]):
        times: dict[str, list[float]] = {"/healthz": [], "/login/": []}
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            for path, taken in times.items():
                taken.append(_asked(port, path))
    return {
        f"{path.strip('/')}_{kind}_ms": round(1000 * of(taken), 1)
        for path, taken in times.items()
        for kind, of in (("p50", statistics.median), ("worst", max))
    }


def _asked(port: int, path: str) -> float:
    began = time.perf_counter()
    asking = client.HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(asking):
        asking.request("GET", path)
        answer = asking.getresponse()
        answer.read()
    if answer.status != client.OK:
        raise RuntimeError(f"{path} gave {answer.status}")
    return time.perf_counter() - began


@contextmanager
def _dripping(port: int, beginnings: list[str]) -> Iterator[None]:
    over = threading.Event()
    with ExitStack() as opened:
        clients = []
        for number in range(CLIENTS if beginnings else 0):
            each = opened.enter_context(socket.create_connection(("127.0.0.1", port), 10))
            each.sendall(beginnings[number % len(beginnings)].encode())
            clients.append(each)

        def drip() -> None:
            while not over.wait(1):
                for each in clients:
                    with suppress(OSError):
                        each.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


if __name__ == "__main__":
    main()
