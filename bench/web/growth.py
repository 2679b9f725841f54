"""How long lists and searches take among few runs and among very many.

python -m bench.web.growth [RUNS]        a million takes about ten minutes and 20 GB
"""

import json
import os
import statistics
import sys
import time
from typing import Any

import django

FEW, MANY = 100, 200_000
WAITING_EACH = 10  # of a million runs, 100,000 wait for a decision
TIMES = 15
PLACES = {
    "inbox": "/",
    "inbox, one project": "/?project=acme/app-7",
    "runs": "/runs/",
    "runs, one project": "/runs/?project=acme/app-7",
    "runs, page 200": "/runs/?page=200",
    "search, a common word": "/runs/?q=invoice",
    "search, a rare text": "/runs/?q=unit+312",
    "search, a work id": "/runs/?q=%23258",
    "API, a common word": "/api/v1/runs?q=invoice",
    "API, a rare text": "/api/v1/runs?q=unit+312",
    "API, a work id": "/api/v1/runs?work_id=258",
    "API, open requests": "/api/v1/requests?status=pending",
    "audit": "/audit/",
}


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    os.environ.setdefault("FABER_UNDO_SECONDS", "0")
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from bench.ground import filling  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    factories.answered(factories.started(factories.five_steps()), "approve")
    client, headers = _reader()
    found: dict[int, dict[str, Any]] = {}
    for wanted in (FEW, many):
        filling.fill_up_to(wanted, waiting_each=WAITING_EACH)
        found[wanted] = {name: _taken(client, at, headers) for name, at in PLACES.items()}
    print(
        json.dumps(
            {
                name: {
                    "few_ms": found[FEW][name],
                    "many_ms": found[many][name],
                    "ratio": round(found[many][name] / found[FEW][name], 1),
                }
                for name in PLACES
            }
        )
    )


def _reader() -> tuple[Any, dict[str, str]]:
    from django.test import Client  # noqa: PLC0415

    from runs.accounts import tokens, users  # noqa: PLC0415
    from runs.domain.values.actors import Role, Scope  # noqa: PLC0415

    operator = users.create("olga", role=Role.OPERATOR)
    _, secret = tokens.create("bench", scope=Scope.OPERATOR, user=operator)
    client = Client(SERVER_NAME="localhost")
    client.force_login(operator)
    return client, {"Authorization": f"Bearer {secret}"}


def _taken(client: Any, address: str, headers: dict[str, str]) -> float:
    """The median, in milliseconds."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        response = client.get(address, headers=headers)
        times.append((time.perf_counter() - began) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{address} gave {response.status_code}")
    return round(statistics.median(times), 1)


if __name__ == "__main__":
    main()
