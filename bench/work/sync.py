"""How long the first look at the directories of 200 runs takes, and the second."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import django

from tests import original

RUNS = 200
EVENTS = 20  # besides those every run begins with
BASE = ".fractary/plugins/faber/runs"


def main() -> None:
    django.setup()
    from feedback.exchange.sync.watch import Sync  # noqa: PLC0415  it needs the settings
    from runs.models import migrate  # noqa: PLC0415

    migrate.bring_up_to_date()
    with tempfile.TemporaryDirectory(prefix="faber-sync-") as folder:
        _fill(Path(folder) / BASE)
        sync = Sync(Path(folder), lambda _line: None)
        first, second = _taken(sync.look), _taken(sync.look)
    print(json.dumps({"runs": RUNS, "first_look_s": first, "second_look_s": second}))


def _fill(base: Path) -> None:
    for number in range(RUNS):
        run = original.make_run(base, f"acme/app/{uuid4()}")
        for _ in range(EVENTS):
            original.emit(run, "checkpoint", phase="architect", message="so far")
        original.ask(run, f"fr-20251206-{number:06x}")


def _taken(look: Callable[[], bool]) -> float:
    began = time.perf_counter()
    if not look():
        raise RuntimeError("a directory could not be read")
    return round(time.perf_counter() - began, 2)


if __name__ == "__main__":
    main()
