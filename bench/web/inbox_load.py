"""The inbox under twenty clients, while runs start, ask and are answered on the same machine."""

import json
import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import client
from pathlib import Path
from urllib.parse import urlsplit

import django

from bench.ground.scratch_site import free_port, running
from bench.work import workload

CLIENTS = 20
SECONDS = 15
OPEN = 60
PAUSE = 0.2  # between two runs that are started and answered meanwhile


def main() -> None:
    os.environ |= {"FABER_PORT": str(free_port()), "FABER_LOG_LEVEL": "WARNING"}
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    call_command("migrate", verbosity=0)
    with running(dict(os.environ)) as site:
        cookie = _signed_in()
        _put_the_demo_away()
        runs = [workload.start() for _ in range(OPEN)]
        workload.wait_until(lambda: workload.states(runs, "awaiting_feedback") == OPEN)
        with _work_going_on() as answered:
            before = _spent(site.pid)
            times = _asked(urlsplit(site.url).port or 80, cookie)
            spent = _spent(site.pid) - before
    print(
        json.dumps(
            {
                "requests_per_second": round(len(times) / SECONDS, 1),
                "p50_ms": round(statistics.median(times) * 1000),
                "p99_ms": round(statistics.quantiles(times, n=100)[-1] * 1000),
                "server_cpu_ms_each": round(1000 * spent / len(times), 2),
                "runs_answered_meanwhile": len(answered),
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )


def _signed_in() -> str:
    from django.test import Client  # noqa: PLC0415

    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415

    browser = Client()
    browser.force_login(users.create("rita", role=Role.REVIEWER))
    return f"sessionid={browser.cookies['sessionid'].value}"


def _put_the_demo_away() -> None:
    """Beside the demo the inbox shows a guide, as it does on the first day only."""
    from runs import engine  # noqa: PLC0415
    from runs.domain.values.actors import Actor, Source  # noqa: PLC0415
    from runs.models import DEMO, Run  # noqa: PLC0415

    operator = Actor(name="bench", source=Source.CLI, method="", groups=frozenset({"operator"}))
    for run in Run.objects.filter(project__name=DEMO):
        engine.cancel(run.pk, reason="for the measurement", actor=operator)


@contextmanager
def _work_going_on() -> Iterator[list[int]]:
    """Runs that start, pause and are answered, one after another."""
    ends, begun = threading.Event(), list[int]()

    def is_asking() -> bool:
        return workload.states(begun[-1:], "awaiting_feedback") == 1

    def work() -> None:
        while not ends.wait(PAUSE):
            begun.append(workload.start())
            workload.wait_until(is_asking)
            workload.answer(workload.asked(begun[-1]))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield begun
    finally:
        ends.set()
        worker.join()


def _asked(port: int, cookie: str) -> list[float]:
    """How long each page took, asked for by one client after the other's answer."""
    ends, times = time.monotonic() + SECONDS, list[float]()

    def ask() -> None:
        with closing(client.HTTPConnection("127.0.0.1", port, timeout=30)) as asking:
            while time.monotonic() < ends:
                began = time.perf_counter()
                asking.request("GET", "/", headers={"Cookie": cookie, "Host": "localhost"})
                answer = asking.getresponse()
                answer.read()
                if answer.status != client.OK:
                    raise RuntimeError(f"the inbox gave {answer.status}")
                times.append(time.perf_counter() - began)

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return times


def _spent(supervisor: int) -> float:
    """Seconds of a core that the process of the site has used; it is the first one started."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    fields = Path(f"/proc/{children[0]}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
