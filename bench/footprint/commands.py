"""How long commands take, against importing Django's management alone; in turns, on a live site."""

import json
import subprocess
import sys
import time
from pathlib import Path

from bench.ground.scratch_site import ROOT, Site, scratch_site

ROUNDS = 9
FABER = str(Path(sys.executable).with_name("faber"))
BARE = "django.core.management"
COMMANDS: dict[str, list[str]] = {
    BARE: [sys.executable, "-c", f"import {BARE}"],
    "--help": [FABER, "--help"],
    "pending": [FABER, "pending"],
    "status": [FABER, "status"],
    "answer": [FABER, "answer", "fr-20260101-000000", "approve"],  # a request that nobody opened
}


def main() -> None:
    with scratch_site() as site:
        rounds = [{name: _taken(site, name) for name in COMMANDS} for _ in range(ROUNDS)]
    # The least of many: whatever else the machine does only ever adds to it.
    best = {name: min(each[name] for each in rounds) for name in COMMANDS}
    print(
        json.dumps(
            {
                name: {"ms": round(1000 * taken), "ratio": round(taken / best[BARE], 2)}
                for name, taken in best.items()
            }
        )
    )


def _taken(site: Site, name: str) -> float:
    began = time.perf_counter()
    subprocess.run(COMMANDS[name], cwd=ROOT, env=site.environment, capture_output=True, check=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
