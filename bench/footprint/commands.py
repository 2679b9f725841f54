"""How long commands take, against importing Django's management alone; in turns.

On a live site, which executes them itself, and where none runs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.ground.scratch_site import ROOT, scratch_site
from tests.sites import seed

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


ALONE = ("pending", "status", "answer")


def main() -> None:
    with scratch_site() as site, tempfile.TemporaryDirectory(prefix="faber-site-") as folder:
        nobody = {**os.environ, "FABER_DATA_DIR": str(seed(Path(folder)))}
        rounds = [_round(site.environment, nobody) for _ in range(ROUNDS)]
    # The least of many: whatever else the machine does only ever adds to it.
    best = {name: min(each[name] for each in rounds) for name in rounds[0]}
    print(
        json.dumps(
            {
                name: {"ms": round(1000 * taken), "ratio": round(taken / best[BARE], 2)}
                for name, taken in best.items()
            }
        )
    )


def _round(site: Mapping[str, str], nobody: Mapping[str, str]) -> dict[str, float]:
    served = {name: _taken(name, site) for name in COMMANDS}
    return served | {f"{name}, no site": _taken(name, nobody) for name in ALONE}


def _taken(name: str, environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(COMMANDS[name], cwd=ROOT, env=environment, capture_output=True, check=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
