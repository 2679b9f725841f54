"""How long `faber up` takes until it is ready, against importing Django's management; in turns."""

import json
import os
import subprocess
import tempfile
import time

from bench.footprint.commands import BARE, COMMANDS
from bench.ground.scratch_site import free_port, running

ROUNDS = 3


def main() -> None:
    rounds = [_round() for _ in range(ROUNDS)]
    # The least of many: whatever else the machine does only ever adds to it.
    best = {name: min(each[name] for each in rounds) for name in rounds[0]}
    print(
        json.dumps(
            {
                name: {"s": round(taken, 2), "ratio": round(taken / best[BARE], 1)}
                for name, taken in best.items()
            }
        )
    )


def _round() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="faber-site-") as folder:
        port = str(free_port())
        environment = {**os.environ, "FABER_DATA_DIR": folder, "FABER_PORT": port}
        return {
            BARE: _imported(),
            "first start": _started(environment),
            "second start": _started(environment),
        }


def _imported() -> float:
    began = time.perf_counter()
    subprocess.run(COMMANDS[BARE], check=True)
    return time.perf_counter() - began


def _started(environment: dict[str, str]) -> float:
    began = time.perf_counter()
    with running(environment):
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
