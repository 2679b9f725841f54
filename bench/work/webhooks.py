"""100 webhook deliveries a second for 10 seconds: accepted how fast, and each read once."""

import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import django

from bench.ground.scratch_site import scratch_site
from tests.fake_github import Delivery, FakeGitHub

REPO, ISSUE = "acme/app", 1
PER_SECOND, SECONDS = 100, 10
COMMANDS = 20  # of all; each is answered on the issue


def main() -> None:
    with FakeGitHub() as github, scratch_site(**github.settings()) as site:
        github.add_issue(REPO, ISSUE)
        github.grant(REPO, "octocat", "write")
        os.environ.update(site.environment, DJANGO_SETTINGS_MODULE="faber_site.settings")
        django.setup()
        _make_project()
        deliveries = [_delivery(github, number) for number in range(PER_SECOND * SECONDS)]
        times = _sent(f"{site.url}/github/webhook", deliveries)
        read_within = _read_all(len(deliveries))
        print(json.dumps({**_figures(times), **read_within}))


def _make_project() -> None:
    from runs.models import Project  # noqa: PLC0415  after the settings

    Project.objects.create(name=REPO)


def _delivery(github: FakeGitHub, number: int) -> Delivery:
    is_command = number % (PER_SECOND * SECONDS // COMMANDS) == 0
    body = "@faber help" if is_command else f"Ask @faber later about remark {number}."
    return github.webhook(github.comment(REPO, ISSUE, body, author="octocat"))


def _sent(url: str, deliveries: list[Delivery]) -> list[float]:
    """Seconds each took, sent at a steady rate however long the answers take."""
    began = time.perf_counter()

    def send(numbered: tuple[int, Delivery]) -> float:
        number, delivery = numbered
        time.sleep(max(0.0, began + number / PER_SECOND - time.perf_counter()))
        sent = time.perf_counter()
        if (status := delivery.send(url)) != 202:
            raise RuntimeError(f"a delivery got {status}")
        return time.perf_counter() - sent

    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(send, enumerate(deliveries)))


def _read_all(count: int) -> dict[str, object]:
    from feedback.models import InboundComment, Webhook  # noqa: PLC0415  after the settings

    began = time.perf_counter()
    while Webhook.objects.exclude(read_at=None).count() < count:
        if time.perf_counter() - began > 120:
            raise TimeoutError("not every delivery was read")
        time.sleep(0.1)
    return {
        "read_seconds_later": round(time.perf_counter() - began, 1),
        "kept": Webhook.objects.count(),
        "commands_heard": InboundComment.objects.count(),
    }


def _figures(times: list[float]) -> dict[str, object]:
    in_ms = [each * 1000 for each in times]
    return {
        "deliveries": len(in_ms),
        "p50_ms": round(statistics.median(in_ms), 1),
        "p95_ms": round(statistics.quantiles(in_ms, n=20)[-1], 1),
        "longest_ms": round(max(in_ms), 1),
    }


if __name__ == "__main__":
    main()
