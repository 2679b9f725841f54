"""What keeping results on disk, the database's clock and the lane for short jobs cost together.

    python -m bench.work.safeguards [ROUNDS]

The five-step workload in turn with all three and without any of them, on each database.
"""

import json
import os
import statistics
import sys
import tempfile
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Any

import django

from bench.ground.apart import measured_apart
from bench.peers.contender_table import Store
from bench.peers.stores import Stores
from bench.work import workload

ROUNDS = 5
CHOICE = "BENCH_SAFEGUARDS"  # told to each process of a measurement
# What more of is better, and what less of.
RATES, DELAYS = ("started_per_second", "completed_per_second"), ("latency_p50_ms",)


class Safeguards(StrEnum):
    KEPT = "kept"
    LEFT_OUT = "left out"


def main() -> None:
    if sys.argv[1:] == ["work"]:
        _work()
    elif CHOICE in os.environ:
        _measure()
    else:
        for store, rows in compared(int(sys.argv[1]) if sys.argv[1:] else ROUNDS).items():
            print(store, json.dumps(rows))


def compared(rounds: int = ROUNDS) -> dict[str, dict[str, dict[str, float]]]:
    """By database and figure: the medians with all three and without, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="faber-safeguards-") as folder:
        stores = Stores(Path(folder))
        return {store.value: _compared(_rounds(stores, store, rounds)) for store in Store}


def _rounds(stores: Stores, store: Store, rounds: int) -> dict[Safeguards, list[dict[str, float]]]:
    found: dict[Safeguards, list[dict[str, float]]] = {each: [] for each in Safeguards}
    for number in range(rounds):
        for each in sorted(Safeguards, reverse=number % 2 == 1):
            found[each].append(_measured(stores, store, each))
    return found


def _measured(stores: Stores, store: Store, safeguards: Safeguards) -> dict[str, float]:
    place = stores.fresh(store)
    url = f"sqlite:///{place.address}" if store is Store.SQLITE else place.address
    os.environ[CHOICE] = safeguards
    figures: dict[str, float] = measured_apart(__spec__.name, url, "bench.ground.steps")
    stores.drop(place)
    print(f"{store.value}, safeguards {safeguards}: {figures}", file=sys.stderr)
    return figures


def _compared(
    found: dict[Safeguards, list[dict[str, float]]],
) -> dict[str, dict[str, float]]:
    def median(safeguards: Safeguards, figure: str) -> float:
        return statistics.median(each[figure] for each in found[safeguards])

    rows = {}
    for figure in (*RATES, *DELAYS):
        without, kept = median(Safeguards.LEFT_OUT, figure), median(Safeguards.KEPT, figure)
        ratio = kept / without if figure in RATES else without / kept
        rows[figure] = {"left out": without, "kept": kept, "ratio": round(ratio, 3)}
    return rows


def _measure() -> None:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from faber_site.runtime import memory  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    _leave_out_what_is_said()
    with workload.worker([sys.executable, "-m", __spec__.name, "work"]):
        workload.burst(10)
        memory.keep_what_is_loaded()  # as the site does, where people answer
        workload.burst(10)
        print(json.dumps(workload.measured()))


def _work() -> None:
    django.setup()
    _leave_out_what_is_said()
    from faber_site import cli  # noqa: PLC0415  it ends the process

    sys.exit(cli.main())


def _leave_out_what_is_said() -> None:
    if os.environ[CHOICE] == Safeguards.KEPT:
        return
    from django.utils import timezone  # noqa: PLC0415

    from runs.jobs import table  # noqa: PLC0415
    from runs.models import clock  # noqa: PLC0415
    from runs.worker import spool  # noqa: PLC0415

    without: Any = {
        spool: {"kept": lambda *_: nullcontext()},
        clock: {
            "now": timezone.now,
            "noted": timezone.now,
            "noting_time": lambda rows: rows,
            "read_at": lambda _: timezone.now(),
        },
        # One worker stays, which says that it is there.
        table: {"SHORT_WORKERS": 1},
    }
    for module, names in without.items():
        for name, put in names.items():
            setattr(module, name, put)
    for job in set(table.Job) - {table.Job.SHORT_BEAT}:
        table._QUEUES[job] = table.Queue.STEPS


if __name__ == "__main__":
    main()
