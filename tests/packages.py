"""Makes context packages for tests, and attempts that were told them."""

from typing import Any

from runs.context import store
from runs.models import ContextPackage, Run, StepAttempt


def source(**fields: object) -> dict[str, Any]:
    known = {"status": "ok", "duration_ms": 3, "bytes": 1200, "sha256": "ab" * 32}
    return {**known, "trust": "faber", **fields}


def package(**fields: object) -> dict[str, Any]:
    """A package as gathering makes it; its words are what tests look for."""
    return {
        "state": {"status": "in_progress", "artifacts": {"spec_path": "specs/export.md"}},
        "metadata": {"project": "Acme/App"},
        "spec": {"path": "specs/export.md", "content": "# Export\n\nOne line each.\n"},
        "issue": None,
        "events": [],
        "notes": [],
        "left_out": [],
        "sources": {
            "state": source(),
            "spec": source(sha256="cd" * 32, bytes=24, trust="workspace"),
            "issue": {"status": "off"},
        },
        "duration_ms": 12,
        "mark": "k3v9",
        **fields,
    }


def attempt(run: Run, step: str = "two", number: int = 1, **fields: object) -> StepAttempt:
    """An attempt that has ended, of a step of the plan."""
    units = run.frozen_plan.units
    position = next(at for at, unit in enumerate(units) if unit.step.id == step)
    known = {"action": "start" if number == 1 else "revise", "status": "finished"}
    return StepAttempt.objects.create(
        run=run,
        phase=units[position].phase.value,
        step=step,
        number=number,
        position=position,
        **{**known, **fields},
    )


def told(run: Run, step: str = "two", number: int = 1, **fields: object) -> ContextPackage:
    return store.store(attempt(run, step, number), package(**fields))


def told_twice(run: Run) -> None:
    """Two packages: the second has a changed spec, a note and something left out."""
    told(run)
    told(
        run,
        number=2,
        spec={"path": "specs/export.md", "content": "# Export\n\nTwo lines each.\n"},
        notes=[{"source": "issue", "level": "warning", "message": "GitHub <did> not answer."}],
        left_out=[
            {"source": "events", "what": "12 events", "bytes": 2048, "why": "over the budget"}
        ],
        sources={
            "state": source(),
            "spec": source(sha256="ef" * 32, bytes=25, trust="workspace"),
            "issue": {"status": "timeout", "duration_ms": 5000, "trust": "people"},
        },
    )
