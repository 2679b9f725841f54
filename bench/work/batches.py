"""Many runs at once: what a run costs beside 10, 50 and 200, and how long the desk of 200 takes.

`python -m bench.work.batches` measures on SQLite; with `postgresql` behind it on PostgreSQL.
"""

import contextlib
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import django

SIZES = (10, 50, 200)
ROUNDS = 3
SLEEP = 0.02
_INSIDE = "FABER_BENCH_INSIDE"

WORKLOAD = {
    "id": "bench-batch",
    "phases": {
        "build": {
            "steps": [
                {"id": "one", "python": "bench.work.batches:nap"},
                {"id": "two", "python": "bench.work.batches:nap", "requires_approval": True},
            ]
        },
        "release": {"steps": [{"id": "three", "python": "bench.work.batches:nap"}]},
    },
}


def nap(briefing: Mapping[str, object]) -> dict[str, object]:
    """A step that waits for something, as most do."""
    time.sleep(SLEEP)
    return {"status": "success", "message": f"{briefing['step']} done"}


def main() -> None:
    if os.environ.get(_INSIDE):
        measure()
        return
    from bench.ground.apart import measured_apart  # noqa: PLC0415
    from tests import postgres  # noqa: PLC0415

    url = postgres.start() if "postgresql" in sys.argv else ""
    os.environ[_INSIDE] = "1"
    print(told(measured_apart("bench.work.batches", url, "bench.work.batches")))


def measure() -> None:
    """In the process whose settings are those of the scratch site."""
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from bench.work.workload import worker  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    with worker(), workflow_file() as file:
        one_batch(file, 10, "approve")  # warm
        sizes = best_of_each(file)
        page = desk_of(file, SIZES[-1])
    print(json.dumps({"sizes": sizes, "desk": page, "sleep_ms": SLEEP * 1000 * 3}))


@contextlib.contextmanager
def workflow_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench-batch.json"
        file.write_text(json.dumps(WORKLOAD))
        yield file


def best_of_each(file: Path) -> dict[str, dict[str, float]]:
    """The sizes in turn, and the best round of each: a busy machine must not favour one of them."""
    rounds = [{size: one_batch(file, size, "approve") for size in SIZES} for _ in range(ROUNDS)]
    best = {size: min((each[size] for each in rounds), key=_whole) for size in SIZES}
    return {
        str(size): {key: round(value, 1) for key, value in found.items()}
        for size, found in best.items()
    }


def _whole(found: dict[str, float]) -> float:
    return found["whole"]


def one_batch(file: Path, size: int, word: str) -> dict[str, float]:
    """Milliseconds per run: started, until it asks, answered, until it is completed."""
    from bench.work.workload import wait_until  # noqa: PLC0415
    from feedback.batches import answering  # noqa: PLC0415

    began = time.perf_counter()
    batch = start(file, size)
    started = time.perf_counter()
    wait_until(lambda: standing(batch, "awaiting_feedback") == size)
    asked = time.perf_counter()
    results = answering.answer_text(batch, f"all: {word}", reviewer())
    answered = time.perf_counter()
    assert len(results) == size
    assert all(result.is_applied for result in results)
    wait_until(lambda: standing(batch, "completed") == size)
    done = time.perf_counter()
    check_each(batch, results)
    return {
        "start": (started - began) * 1000 / size,
        "to_question": (asked - started) * 1000 / size,
        "answer": (answered - asked) * 1000 / size,
        "to_end": (done - answered) * 1000 / size,
        "whole": (done - began) * 1000 / size,
        "all_answered": (answered - asked) * 1000,
    }


def check_each(batch: Any, results: Any) -> None:
    """Every run has exactly its own answer."""
    from feedback.models import FeedbackResponse  # noqa: PLC0415

    given = FeedbackResponse.objects.filter(request__run__batch=batch)
    runs = list(given.values_list("request__run__run_id", flat=True))
    assert sorted(runs) == sorted(result.run_id for result in results)
    assert len(set(runs)) == len(runs)


def desk_of(file: Path, size: int) -> dict[str, float]:
    """The page of many rows, its news, and all of them answered by one click."""
    from django.test import Client  # noqa: PLC0415

    from bench.work.workload import wait_until  # noqa: PLC0415
    from feedback.models import FeedbackRequest  # noqa: PLC0415
    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415

    batch = start(file, size)
    wait_until(lambda: standing(batch, "awaiting_feedback") == size)
    client = Client(SERVER_NAME="localhost")
    client.force_login(users.create("rita", role=Role.REVIEWER))
    address = f"/batches/{batch.batch_id}/"
    times = []
    for _ in range(11):
        began = time.perf_counter()
        page = client.get(address)
        times.append((time.perf_counter() - began) * 1000)
    shown = page.content.decode()
    version = _found(r"\?v=([\d-]+)", shown)
    began = time.perf_counter()
    nothing = client.get(f"{address}?v={version}", headers={"HX-Request": "true"})
    poll = (time.perf_counter() - began) * 1000
    assert nothing.status_code == 204
    open_ones = FeedbackRequest.objects.filter(run__batch=batch, status="pending")
    data = {f"choice-{request.request_id}": "approve" for request in open_ones}
    began = time.perf_counter()
    answered = client.post(
        address, {**data, "seals": _found(r'name="seals" value="([^"]*)', shown)}
    )
    sent = (time.perf_counter() - began) * 1000
    assert answered["Location"].endswith(f"?sent={size}")
    return {
        "rows": size,
        "page_first_ms": round(times[0]),
        "page_p50_ms": round(statistics.median(times[1:]), 1),
        "kilobytes": round(len(page.content) / 1000),
        "poll_ms": round(poll, 1),
        "all_sent_ms": round(sent),
    }


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found
    return found[1]


def start(file: Path, size: int) -> Any:
    from runs.engine import batches  # noqa: PLC0415
    from runs.engine.batches import BatchWish  # noqa: PLC0415
    from runs.engine.starting import Wish  # noqa: PLC0415

    wish = Wish(workflow=str(file), workspace=file.parent, project="faber/bench")
    ids = [str(1000 + number) for number in range(size)]
    return batches.start(BatchWish(wish=wish, work_ids=ids, concurrency=min(size, 200)), reviewer())


def reviewer() -> Any:
    from runs.domain.values.actors import Actor, Source  # noqa: PLC0415

    return Actor(name="bench", source=Source.API, method="token", groups=frozenset({"reviewer"}))


def standing(batch: Any, status: str) -> int:
    return int(batch.runs.filter(status=status).count())


def told(found: dict[str, Any]) -> str:
    heads = ("start", "to_question", "answer", "to_end", "whole")
    few = found["sizes"][str(SIZES[0])]
    lines = [
        f"{size:>4} runs, ms per run: "
        + ", ".join(f"{head} {row[head]}" for head in heads)
        + f"; whole ×{row['whole'] / few['whole']:.2f} of {SIZES[0]} runs"
        for size, row in found["sizes"].items()
    ]
    desk = found["desk"]
    return "\n".join(
        [
            *lines,
            f"desk of {desk['rows']}: {desk['page_p50_ms']} ms (first {desk['page_first_ms']}), "
            f"{desk['kilobytes']} kB, a poll without news {desk['poll_ms']} ms, "
            f"all answered in one action in {desk['all_sent_ms']} ms",
        ]
    )


if __name__ == "__main__":
    main()
