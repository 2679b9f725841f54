"""The plan: a merged workflow as it is frozen into a run, with its hash."""

import hashlib
import json
from functools import cached_property
from typing import Literal, NamedTuple

from runs.domain.values.phases import Phase
from runs.domain.workflow.definition import Autonomy, Budget, Step, Value


class Unit(Value):
    """One thing to execute: a step of the plan, or a hook beside it."""

    phase: Phase
    index: int  # within the phase, over pre, main and post steps; a hook has that of its neighbour
    step: Step
    source: str  # id of the workflow that contributed it
    position: Literal["pre_step", "step", "post_step", "hook"] = "step"
    document: str | None = None  # a document hook only adds this file to the context
    gated: bool = False  # an approval is asked for it by its name

    @property
    def is_hook(self) -> bool:
        return self.position == "hook"

    @property
    def key(self) -> str:
        return f"{self.phase}:{self.step.id}"


class PlannedPhase(Value):
    name: Phase
    description: str = ""
    left_out: str = ""  # why the phase is passed over: disabled, not selected, no steps
    gated: bool = False
    max_retries: int = 0
    units: tuple[Unit, ...] = ()


class Progress(NamedTuple):
    """Steps of a plan; hooks are none."""

    done: int
    total: int


class Plan(Value):
    workflow_id: str
    description: str = ""
    chain: tuple[str, ...] = ()  # this workflow first, its root last
    skipped_steps: tuple[str, ...] = ()
    autonomy: Autonomy = Autonomy()
    phases: tuple[PlannedPhase, ...] = ()
    worktree: bool | None = None  # None: the project decides
    paths: tuple[str, ...] = ()  # globs of the files that any step may touch
    budget: Budget | None = None  # of the whole run

    @classmethod
    def read(cls, document: object) -> "Plan":
        """A plan as it was stored; what is stored was checked before, so this never fails."""
        return cls.model_validate_json(json.dumps(document))

    def dump(self) -> dict[str, object]:
        return self.model_dump(mode="json", exclude_defaults=True)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Everything to execute, in order; a run's position is an index into this."""
        return tuple(unit for phase in self.phases if not phase.left_out for unit in phase.units)

    @cached_property
    def step_keys(self) -> tuple[str, ...]:
        return tuple(unit.key for unit in self.units if not unit.is_hook)

    @cached_property
    def meant_paths(self) -> tuple[str, ...]:
        """Globs of all files that the plan is to touch; none when nobody said which."""
        of_steps = (glob for unit in self.units for glob in unit.step.paths)
        return tuple(dict.fromkeys([*self.paths, *of_steps]))

    def progress(self, position: int) -> Progress:
        """How far a run has come that stands before the unit at this position."""
        done = sum(1 for unit in self.units[:position] if not unit.is_hook)
        return Progress(done=done, total=len(self.step_keys))

    def unit_at(self, position: int, *, entered: str) -> Unit:
        """What a run stands at: before a phase its first step, though hooks of it come earlier."""
        unit = self.units[position]
        if unit.phase == entered:
            return unit
        rest = (later for later in self.units[position:] if later.phase is unit.phase)
        return next((later for later in rest if not later.is_hook), unit)

    def phase(self, name: Phase) -> PlannedPhase:
        return next(phase for phase in self.phases if phase.name == name)

    @cached_property
    def digest(self) -> str:
        return digest_of(self.dump())


def digest_of(document: object) -> str:
    """The hash of a plan as it is stored, whatever order a database gives its keys back in."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
