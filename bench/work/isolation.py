"""What isolation costs: the whole demo and the smallest step, with it and without it in turns."""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import django

DEMOS, STEPS = 8, 40
ANSWERS = ("request_changes", "approve", "retry", "approve")


def main() -> None:
    django.setup()
    from django.conf import settings  # noqa: PLC0415  after the settings
    from django.core.management import call_command  # noqa: PLC0415

    from runs.isolation import ways  # noqa: PLC0415
    from runs.workspaces import hidden  # noqa: PLC0415

    settings.FABER_UNDO_SECONDS = 0  # answers take effect at once
    call_command("migrate", verbosity=0)
    if why := ways.why_not(hidden.isolation().hidden):
        print(json.dumps({"unavailable": why}))
        return

    def in_turns(work: Callable[[], None], rounds: int) -> dict[str, float]:
        """Medians: both get whatever else the machine does meanwhile."""
        taken: dict[str, list[float]] = {"off": [], "require": []}
        for number in range(rounds + 1):
            for mode, times in taken.items():
                settings.FABER_STEP_ISOLATION = mode
                began = time.perf_counter()
                work()
                if number:  # the first is to warm up
                    times.append(time.perf_counter() - began)
        return {mode: statistics.median(times) for mode, times in taken.items()}

    demo, step = in_turns(_demo, DEMOS), in_turns(_step, STEPS)
    print(json.dumps({**_figures("demo", demo), **_figures("step", step)}))


def _demo() -> None:
    from runs import demo  # noqa: PLC0415
    from runs.domain.values.status import RunStatus  # noqa: PLC0415
    from tests import factories as f  # noqa: PLC0415

    run = f.work(demo.start_demo())
    for answer in ANSWERS:
        run = f.answered(run, answer, "Please separate the fields by a semicolon.")
    if run.state is not RunStatus.COMPLETED:
        raise RuntimeError(f"the demo is {run.state.label}")


def _step() -> None:
    from tests import factories as f  # noqa: PLC0415

    f.started(f.workflow({"build": [{"id": "true", "run": ["true"]}]}), Path("/"))


def _figures(name: str, taken: Mapping[str, float]) -> dict[str, float]:
    return {
        f"{name}_ms": round(taken["off"] * 1000, 1),
        f"{name}_isolated_ms": round(taken["require"] * 1000, 1),
        f"{name}_ratio": round(taken["require"] / taken["off"], 3),
    }


if __name__ == "__main__":
    main()
