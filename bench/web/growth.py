"""How long pages, lists, searches and the engine take among few runs and among very many.

python -m bench.web.growth [RUNS]        a million takes about 15 minutes and 30 GB
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import django
from django.utils import timezone

FEW, MANY = 100, 200_000
WAITING_EACH = 10  # of a million runs, 100,000 wait for a decision
TIMES = 15
PLACES = {
    "inbox": "/",
    "inbox, one project": "/?project=acme/app-7",
    "inbox, mine": "/?mine=1",
    "inbox, sorted by title": "/?sort=title",
    "inbox, a common word": "/?q=invoice",
    "inbox, a rare text": "/?q=unit+312",
    "inbox, no such text": "/?q=nowhere+at+all",
    "a look whether something waits": "/waiting/",
    "a request": "/requests/REQUEST/",
    "runs": "/runs/",
    "runs, one project": "/runs/?project=acme/app-7",
    "runs, page 200": "/runs/?page=200",
    "search, a common word": "/runs/?q=invoice",
    "search, a rare text": "/runs/?q=unit+312",
    "search, a work id": "/runs/?q=%23258",
    "a run": "/runs/RUN/",
    "projects": "/projects/",
    "one project": "/projects/acme/app-7/",
    "API, runs": "/api/v1/runs",
    "API, a common word": "/api/v1/runs?q=invoice",
    "API, a rare text": "/api/v1/runs?q=unit+312",
    "API, a work id": "/api/v1/runs?work_id=258",
    "API, a run": "/api/v1/runs/RUN",
    "API, open requests": "/api/v1/requests?status=pending",
    "API, all requests": "/api/v1/requests?status=answered",
    "audit": "/audit/",
    "audit, page 200": "/audit/?page=200",
    "audit, one project": "/audit/?project=acme/app-7",
    "audit, one person": "/audit/?user=olga",
    "audit, a common word": "/audit/?q=approve",
    "audit, a rare text": "/audit/?q=fr-20260101-77",
    "audit, no such text": "/audit/?q=nowhere+at+all",
    "audit, sign-ins": "/audit/?kind=sign_in",
    "statistics": "/statistics/",
    "statistics, all time": "/statistics/?period=all",
    "costs": "/costs/",
    "costs, all time": "/costs/?period=all",
    "doctor": "/doctor/",
    "webhooks": "/webhooks/",
    "metrics": "/metrics",
}


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    os.environ.setdefault("FABER_UNDO_SECONDS", "0")
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from bench.ground import filling  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    _make_original()
    found: dict[int, dict[str, float]] = {}
    for wanted in (FEW, many):
        filling.fill_up_to(wanted, waiting_each=WAITING_EACH)
        found[wanted] = measured()
    print(
        json.dumps(
            {
                name: {
                    "few_ms": found[FEW][name],
                    "many_ms": found[many][name],
                    "ratio": round(found[many][name] / found[FEW][name], 1),
                }
                for name in found[FEW]
            }
        )
    )


def measured() -> dict[str, float]:
    """Every place, then what a run takes; milliseconds."""
    client, headers = _reader()
    named = _names()
    _count_for_good(client, headers)
    taken = {}
    for name, place in PLACES.items():
        address = reduce(lambda text, word: text.replace(word, named[word]), named, place)
        taken[name] = _median(partial(_read, client, address, headers))
    return {**taken, **_of_engine()}


def _make_original() -> None:
    """The run that is copied: with a cost, and all that is sent about one."""
    from feedback.models import (  # noqa: PLC0415
        Announcement,
        Delivery,
        Notice,
        WebhookDelivery,
        WebhookEndpoint,
    )
    from runs.models import Run  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    run = factories.answered(factories.started(factories.five_steps()), "approve")
    cost = {"cost_usd": 0.2, "input_tokens": 40_000, "output_tokens": 2_000}
    Run.objects.filter(pk=run.pk).update(**cost)
    run.attempts.filter(pk__in=run.attempts.order_by("pk").values("pk")[:2]).update(**cost)
    asked = run.requests.get()
    gone = {"is_due": False}
    told = Announcement.objects.create(kind="opened", about=asked.request_id, request=asked, **gone)
    Notice.objects.create(
        announcement=told, receiver="r", service="mailto", origin="site", sent_at=told.created_at
    )
    Delivery.objects.create(
        kind="request", mark="m", request=asked, run=run, repository="acme/app", issue=1, **gone
    )
    WebhookDelivery.objects.create(
        endpoint=WebhookEndpoint.objects.create(endpoint_id="wh-0", url="https://192.0.2.1/"),
        delivery_id="d",
        event_key="e",
        event="request.opened",
        subject=asked.request_id,
        body="{}",
        delivered_at=told.created_at,
        **gone,
    )


def _names() -> dict[str, str]:
    from feedback.models import FeedbackRequest  # noqa: PLC0415
    from runs.models import Run  # noqa: PLC0415

    return {
        "REQUEST": FeedbackRequest.objects.filter(status="pending").latest("pk").request_id,
        "RUN": Run.objects.filter(status="completed").latest("pk").run_id,
    }


def _reader() -> tuple[Any, dict[str, str]]:
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from runs.accounts import tokens, users  # noqa: PLC0415
    from runs.domain.values.actors import Role, Scope  # noqa: PLC0415

    name = f"olga-{User.objects.count()}"
    operator = users.create(name, role=Role.OPERATOR)
    _, secret = tokens.create(f"bench-{name}", scope=Scope.OPERATOR, user=operator)
    client = Client(SERVER_NAME="localhost")
    client.force_login(operator)
    return client, {"Authorization": f"Bearer {secret}"}


def _count_for_good(client: Any, headers: dict[str, str]) -> None:
    """As after some minutes of scrapes: what was seen by the first is in the sums that are kept."""
    from feedback.models import KeptTotal  # noqa: PLC0415
    from feedback.totals import growing  # noqa: PLC0415

    for _ in range(2):
        _read(client, "/metrics", headers)
        KeptTotal.objects.update(seen_at=timezone.now() - 2 * growing.WRITTEN)


def _read(client: Any, address: str, headers: dict[str, str]) -> None:
    is_program = address.startswith(("/api/", "/metrics"))
    response = client.get(address, headers=headers if is_program else {})
    if response.status_code not in (200, 204):
        raise RuntimeError(f"{address} gave {response.status_code}")


def _of_engine() -> dict[str, float]:
    from tests import factories  # noqa: PLC0415

    rounds: list[tuple[float, ...]] = []
    for _ in range(TIMES):
        marks = [time.perf_counter()]
        run = factories.start(factories.five_steps())
        marks.append(time.perf_counter())
        factories.work(run)
        marks.append(time.perf_counter())
        factories.answer(run, "approve")
        marks.append(time.perf_counter())
        factories.work(run)
        marks.append(time.perf_counter())
        rounds.append(tuple(1000 * (end - begin) for begin, end in pairwise(marks)))
    names = ("a start", "two steps and a question", "an answer", "three steps to the end")
    taken = (round(statistics.median(each), 1) for each in zip(*rounds, strict=True))
    return {f"engine, {name}": value for name, value in zip(names, taken, strict=True)}


def _median(look: Callable[[], None]) -> float:
    """In milliseconds."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        look()
        times.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(times), 1)


if __name__ == "__main__":
    main()
