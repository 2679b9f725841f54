"""What receivers that never answer cost a run: two sites in turn, one of which has only such."""

import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench.ground.scratch_site import ROOT, Site, scratch_site
from bench.work.workload import WORKLOAD
from faber_client import Faber

ROUNDS = 40
RECEIVERS = 4
PAUSE = 0.02  # between two looks: a token may not ask more often for long
SETTINGS = {
    "FABER_UNDO_SECONDS": "0",
    "FABER_PYTHON_STEPS": "bench.ground.steps",
    "FABER_CALLBACK_ALLOW": "127.0.0.1",
    "FABER_LOG_LEVEL": "ERROR",
}


def main() -> None:
    with ExitStack() as stack:
        ports = [stack.enter_context(_hanging()) for _ in range(RECEIVERS)]
        urls = ",".join(f"json://127.0.0.1:{port}/" for port in ports)
        sites = {
            "alone": stack.enter_context(scratch_site(**SETTINGS)),
            "hanging": stack.enter_context(scratch_site(**SETTINGS, FABER_NOTIFY_URLS=urls)),
        }
        for port in ports:
            _faber(sites["hanging"], "webhook", "add", f"http://127.0.0.1:{port}/")
        clients = {name: Faber(site.url, _token(site)) for name, site in sites.items()}
        times: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(ROUNDS):
            for name, client in clients.items():
                times[name].append(_run(client))
    medians = {name: round(1000 * statistics.median(taken), 1) for name, taken in times.items()}
    print(json.dumps({**medians, "more_ms": round(medians["hanging"] - medians["alone"], 1)}))


def _run(client: Faber) -> float:
    """From the start of a run over its question and answer to its end."""
    began = time.perf_counter()
    run_id = client.start(WORKLOAD)["run_id"]
    while (request_id := client.run(run_id)["pending_request"]) is None:
        time.sleep(PAUSE)
    client.answer(request_id, "approve")
    while client.run(run_id)["status"] != "completed":
        time.sleep(PAUSE)
    return time.perf_counter() - began


def _token(site: Site) -> str:
    made = _faber(site, "token", "create", "bench", "--scope", "operator", "--user", "admin")
    return str(made["token"])


def _faber(site: Site, *words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "manage.py", *words, "--json"],
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@contextmanager
def _hanging() -> Iterator[int]:
    """Takes every connection and never says a word."""
    listener, taken = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def take() -> None:
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:  # closed at the end
                return

    threading.Thread(target=take, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        for each in (listener, *taken):
            each.close()


if __name__ == "__main__":
    main()
