"""The long form, `make chaos`: both databases, one after the other, with a printed seed."""

import argparse
import random
import shutil
import sys
from contextlib import ExitStack

from tests.brokers import RedisServer, running
from tests.chaos.storm import scenes
from tests.chaos.storm.broker_faults import faults_on
from tests.chaos.storm.forecast import faults_for
from tests.chaos.storm.storm import Plan, blow

LONGEST_LOCK = 40.0
_SCENES = {"sqlite": scenes.on_sqlite, "postgres": scenes.on_postgres}


def main() -> int:
    asked = _arguments()
    # All of them, whatever the first finds.
    found = [_blow_over(name, asked) for name in asked.database or _SCENES]
    return int(any(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--database", choices=list(_SCENES), action="append")
    parser.add_argument("--queue", choices=["database", "celery"], default="database")
    return parser.parse_args()


def _blow_over(name: str, asked: argparse.Namespace) -> bool:
    """Whether a promise was broken."""
    say(f"{name}, {asked.queue}: {asked.seconds:.0f} s of faults, seed {asked.seed}")
    with ExitStack() as stack:
        broker = stack.enter_context(running(RedisServer)) if asked.queue == "celery" else None
        scene = stack.enter_context(_SCENES[name](**(broker.settings if broker else {})))
        faults, missing = faults_for(scene)
        if broker:
            faults = [*faults, *faults_on(broker)]
        for why in missing:
            say(f"SKIPPED: {why}")
        plan = Plan(
            seed=asked.seed, faults=faults, seconds=asked.seconds, longest_lock=LONGEST_LOCK
        )
        report = blow(scene, plan, say)
    for line in [*report.lines(), ""]:
        say(line)
    if report.violations:
        say(f"What was seen, and the logs: {scene.folder}")
    else:
        shutil.rmtree(scene.folder)
    return bool(report.violations)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
