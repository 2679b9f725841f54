"""A year of a busy site: 20,000 runs with agent output, cleaned up every night.

    python -m bench.work.year [RUNS] [--never]

Some runs go through the engine; the others are copies of them, each with ids, a history, lines of
the record and a moment of its own, so that `audit verify` has as much to look at. After each day
comes the site's own nightly cleanup, with the clock of that night; with `--never` it keeps all.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

RUNS = 20_000
OPEN_EACH = 50  # one run in so many still waits for a decision
ORIGINALS = 100
OUTPUT_BYTES = 16_000
DAYS = 365
KEPT_DAYS = 90
TITLES = {
    "runs": "runs",
    "pruned": "pruned runs",
    "database_mb": "database, MB",
    "verify_seconds": "audit verify, s",
    "faults": "faults found",
    "list_ms": "list of runs, ms",
    "run_page_ms": "page of a run, ms",
    "inbox_ms": "inbox, ms",
    "backup_seconds": "backup, s",
    "backup_mb": "backup, MB",
}


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m bench.work.year")
    arguments.add_argument("runs", nargs="?", type=int, default=RUNS)
    arguments.add_argument("--never", action="store_true", help="keep all")
    given = arguments.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="faber-year-") as folder:
        _begin(Path(folder), kept_days=0 if given.never else KEPT_DAYS)
        year = Year.begun(given.runs)
        nights = [year.live(day) for day in range(KEPT_DAYS)]
        before = measured(Path(folder), "before")
        nights += [year.live(day) for day in range(KEPT_DAYS, DAYS)]
        after = measured(Path(folder), "after")
    _report(before, after, nights)
    print(f"The whole took {time.perf_counter() - began:.0f} s.")


def _report(before: dict[str, Any], after: dict[str, Any], nights: Sequence[float]) -> None:
    print(f"{'':24}{f'day {KEPT_DAYS}':>12}{f'day {DAYS}':>12}")
    for name, title in TITLES.items():
        print(f"{title:24}{before[name]:>12}{after[name]:>12}")
    late = sorted(nights[KEPT_DAYS:])
    night = {"median": round(statistics.median(late), 2), "longest": round(late[-1], 2)}
    print(f"A night took {night['median']} s, the longest {night['longest']} s.")
    print(json.dumps({"before": before, "after": after, "night": night}))


def _begin(folder: Path, *, kept_days: int) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "faber_site.settings",
        "FABER_DATA_DIR": str(folder),
        "FABER_DATABASE_URL": os.environ.get("YEAR_DATABASE_URL", ""),
        "FABER_PYTHON_STEPS": "tests.steps",
        "FABER_RETENTION_DAYS": str(kept_days),
        "FABER_UNDO_SECONDS": "0",
    }
    import django  # noqa: PLC0415

    django.setup()
    from django.db import connection  # noqa: PLC0415

    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415
    from runs.models import migrate  # noqa: PLC0415

    migrate.bring_up_to_date()
    users.create("olga", role=Role.OPERATOR)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=OFF")


@dataclass(frozen=True, kw_only=True)
class Year:
    """What happens on each of its days, in order."""

    begin: datetime
    runs: int
    originals: "Sequence[Original]"

    @classmethod
    def begun(cls, runs: int) -> "Year":
        from django.utils import timezone  # noqa: PLC0415

        begin = timezone.now() - timedelta(days=DAYS)
        with mock.patch.object(timezone, "now", return_value=begin):
            originals = [_original(number) for number in range(ORIGINALS)]
        return cls(begin=begin, runs=runs, originals=originals)

    def live(self, day: int) -> float:
        """The runs of a day, then its night; how many seconds that took."""
        self._work(range(self._made_before(day), self._made_before(day + 1)))
        if day % 30 == 0:
            print(f"day {day}", file=sys.stderr)
        return _timed(lambda: clean_up_at(self.begin + timedelta(days=day + 1)))

    def _made_before(self, day: int) -> int:
        return max(ORIGINALS, self.runs * day // DAYS)

    def _work(self, numbers: range) -> None:
        from django.db import transaction  # noqa: PLC0415

        from runs.chain import links  # noqa: PLC0415

        step = timedelta(days=DAYS) / self.runs
        with transaction.atomic():
            for number in numbers:
                copied(self.originals[number % ORIGINALS], number, step * number)
        links.link_all()


def clean_up_at(night: datetime) -> None:
    """What the site does by itself once a day."""
    from django.utils import timezone  # noqa: PLC0415

    from feedback.upkeep import nightly  # noqa: PLC0415
    from runs.models import clock  # noqa: PLC0415

    with (
        mock.patch.object(timezone, "now", return_value=night),
        mock.patch.object(clock, "now", return_value=night),
    ):
        nightly.clean_up()


def _original(number: int) -> "Original":
    from django_q.models import OrmQ  # noqa: PLC0415

    from tests import factories as f  # noqa: PLC0415

    steps = [f.step("make", requires_approval=True), f.step("check")]
    run = f.started(f.workflow({"build": steps}), work_id=str(number), target=f"Task {number}")
    run = f.answered(run, "approve", "Good.") if number % OPEN_EACH else run
    OrmQ.objects.all().delete()  # no worker takes the jobs here
    return Original.of(run)


@dataclass(frozen=True, kw_only=True)
class Original:
    """A run with all that belongs to it."""

    run: Any
    attempts: list[Any]
    events: list[Any]
    packages: list[Any]
    request: Any
    response: Any

    @classmethod
    def of(cls, run: Any) -> "Original":
        request = run.requests.get()
        return cls(
            run=run,
            attempts=list(run.attempts.all()),
            events=list(run.events.order_by("number")),
            packages=list(run.packages.order_by("id")),
            request=request,
            response=request.responses.first(),
        )


def copied(original: Original, number: int, later: timedelta) -> None:
    """Another run like it, at another time, on record like any."""
    from bench.ground.filling import like  # noqa: PLC0415
    from feedback.requests import recorded  # noqa: PLC0415
    from runs.chain import entries  # noqa: PLC0415
    from runs.models import StepOutput  # noqa: PLC0415

    new = uuid.uuid4()
    run = like(
        original.run,
        **_moved(original.run, later, "created_at", "updated_at", "completed_at", "last_event_at"),
        uuid=new,
        run_id=f"acme/app/{new}",
        work_id=str(number),
    )
    run.save()
    asked = original.request
    request = like(
        asked,
        **_moved(asked, later, "requested_at", "closed_at", "ranked_at"),
        run=run,
        request_id=f"{asked.request_id[:12]}{number:06x}",
        attempt=None,
    )
    request.save()
    _copy_history(original, run, request, later)
    for attempt in original.attempts:
        again = like(attempt, **_moved(attempt, later, "started_at", "finished_at"), run=run)
        again.save()
        StepOutput.objects.create(attempt=again, stdout=_output(number))
        for package in original.packages:
            if package.attempt_id == attempt.pk:
                like(package, run=run, attempt=again).save()
    entries.run_started(run, None)
    recorded.question(request, [])
    if original.response:
        response = like(
            original.response, **_moved(original.response, later, "received_at"), request=request
        )
        response.save()
        recorded.decision(response)
        entries.run_ended(run)


def _copy_history(original: Original, run: Any, request: Any, later: timedelta) -> None:
    from bench.ground.filling import like  # noqa: PLC0415
    from runs.domain.values import events  # noqa: PLC0415
    from runs.engine import history  # noqa: PLC0415
    from runs.models import Event  # noqa: PLC0415

    rows, link = [], ""
    for event in original.events:
        at = event.timestamp + later
        told = json.dumps(event.document).replace(original.run.run_id, run.run_id)
        told = told.replace(original.request.request_id, request.request_id)
        document = {**json.loads(told), "timestamp": events.timestamp(at)}
        link = events.chain(link, document)
        rows.append(like(event, run=run, timestamp=at, document=document, hash=link))
    Event.objects.bulk_create(rows)
    run.last_event_hash = link
    run.head_code = history.head_code(run)
    run.save(update_fields=["last_event_hash", "head_code"])


def _moved(row: Any, later: timedelta, *names: str) -> dict[str, Any]:
    known = {name: getattr(row, name) for name in names}
    return {name: value + later for name, value in known.items() if value}


def _output(number: int) -> str:
    drawn = random.Random(number)
    lines = (
        f"[{drawn.getrandbits(64):016x}] edited {drawn.getrandbits(32):08x}.py" for _ in range(500)
    )
    return "\n".join(lines)[:OUTPUT_BYTES]


def measured(folder: Path, name: str) -> dict[str, Any]:
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from feedback.audit.integrity import faults  # noqa: PLC0415
    from feedback.upkeep import backup, disk  # noqa: PLC0415
    from runs.models import Run  # noqa: PLC0415
    from tests import factories as f  # noqa: PLC0415

    with connection.cursor() as cursor:
        _settle(cursor)
    found: list[str] = []
    verifying = _timed(lambda: found.extend(faults()))
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(User.objects.get())
    middle = Run.objects.order_by("pk")[Run.objects.count() // 2]
    file = folder / f"{name}.faber"
    backing_up = _timed(lambda: backup.write(file, f.STARTER))
    return {
        "runs": Run.objects.count(),
        "pruned": Run.objects.exclude(pruned_at=None).count(),
        "database_mb": round(disk.use().database / 1e6, 1),
        "verify_seconds": round(verifying, 1),
        "faults": len(found),
        "list_ms": _page(client, "/runs/"),
        "run_page_ms": _page(client, f"/runs/{middle.run_id}/"),
        "inbox_ms": _page(client, "/"),
        "backup_seconds": round(backing_up, 1),
        "backup_mb": round(file.stat().st_size / 1e6, 1),
    }


def _settle(cursor: Any) -> None:
    """Have all that was written in the database itself."""
    if cursor.db.vendor == "sqlite":
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _page(client: Any, address: str) -> float:
    """The median of some looks, in milliseconds."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        assert client.get(address).status_code == 200, address
        times.append(time.perf_counter() - began)
    return round(sorted(times)[3] * 1000, 1)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
