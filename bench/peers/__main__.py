"""`make bench-peers`: FABER and its peers in turn, round after round; prints one table.

python -m bench.peers --rounds 5
python -m bench.peers --only faber langgraph --store sqlite --rounds 3
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from bench.ground.machine import machine
from bench.ground.scratch_site import ROOT
from bench.peers import environments, report
from bench.peers.contender_table import CONTENDERS, Contender, Store
from bench.peers.driving import ContenderFailed, Round, measure
from bench.peers.stores import Stores

RESULTS = ROOT / "bench" / "results" / "peers.json"


def main() -> None:
    wish = _wish()
    chosen = [
        replace(each, burst=min(each.burst, wish.burst), rounds=min(each.rounds, wish.rounds))
        for each in CONTENDERS
        if each.name in wish.only and each.store in wish.store
    ]
    for each in chosen:
        environments.python_with(each.needs)
    measured: dict[Contender, list[Round]] = {each: [] for each in chosen}
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faber-peers-") as folder:
        stores = Stores(Path(folder))
        for number, each in _turns(chosen, wish.rounds):
            place = stores.fresh(each.store)
            try:
                measured[each].append(measure(each, place, weigh=number == 0))
            except ContenderFailed as failure:
                failures.append(f"{each.key}, round {number + 1}: {failure}")
            stores.drop(place)
            print(f"round {number + 1}: {each.key}", file=sys.stderr)
    print(report.table(measured))
    _keep(measured, failures)
    if failures:
        sys.exit("\n".join(failures))


def _turns(chosen: Sequence[Contender], rounds: int) -> Iterator[tuple[int, Contender]]:
    """Each round begins with another, so that nobody always comes after the same one."""
    for number in range(rounds):
        first = number % len(chosen)
        for each in (*chosen[first:], *chosen[:first]):
            if number < each.rounds:
                yield number, each


def _keep(measured: dict[Contender, list[Round]], failures: list[str]) -> None:
    found = {each.key: [asdict(one) for one in rounds] for each, rounds in measured.items()}
    needs = {each.name: each.needs for each in measured}
    RESULTS.parent.mkdir(exist_ok=True)
    told = {"machine": machine(), "needs": needs, "rounds": found, "failures": failures}
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")
    print(f"written to {RESULTS.relative_to(ROOT)}")


def _wish() -> argparse.Namespace:
    names = sorted({each.name for each in CONTENDERS})
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burst", type=int, default=100, help="runs at once")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--store", nargs="+", type=Store, choices=list(Store), default=list(Store))
    return parser.parse_args()


if __name__ == "__main__":
    main()
