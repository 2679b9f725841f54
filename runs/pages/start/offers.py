"""The workflows that can be started by name, each with what it does and where it asks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runs.domain.values.errors import FaberError
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.plan import Plan, PlannedPhase, Unit
from runs.models import Project
from runs.workflow_files import library
from runs.workspaces.agents import missing_for_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedStep:
    title: str
    gate: str  # what is asked there, or nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPhase:
    title: str
    gate: str  # asked before its first step
    steps: tuple[OfferedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    id: str
    description: str = ""
    phases: tuple[OfferedPhase, ...] = ()
    projects: tuple[str, ...] = ()  # whose folders have it; none: it comes with FABER
    problem: str = ""  # why it cannot be started
    warnings: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        return sum(len(phase.steps) for phase in self.phases)

    @property
    def gates(self) -> int:
        asked = [phase.gate for phase in self.phases]
        return sum(map(bool, (*asked, *(step.gate for p in self.phases for step in p.steps))))


def offers(projects: Iterable[Project]) -> list[Offer]:
    """Those of these projects first, then the bundled ones; each file once."""
    by_folder: dict[Path, list[Project]] = {}
    for project in projects:
        if project.folder:
            by_folder.setdefault(project.folder, []).append(project)
    bundled = library.known_workflows(None)
    own = [
        _offer(name, folder, owners)
        for folder, owners in by_folder.items()
        for name in library.own_workflows(folder)
    ]
    return [*own, *(_offer(name, None, ()) for name in bundled)]


def _offer(name: str, folder: Path | None, owners: Iterable[Project]) -> Offer:
    known = list(owners)
    names = tuple(project.name for project in known)
    try:
        chain = library.load_chain(name, workspace=folder)
        plan = make_plan(chain.workflows).plan
    except FaberError as error:
        return Offer(id=name, projects=names, problem=str(error).partition("\n")[0])
    missing = missing_for_plan(
        plan, workspace=folder or Path("/"), project=known[0] if known else None
    )
    return Offer(
        id=name,
        description=plan.description,
        phases=tuple(_phases(plan)),
        projects=names,
        warnings=tuple(missing),
    )


def _phases(plan: Plan) -> Iterator[OfferedPhase]:
    for phase in plan.phases:
        steps = tuple(map(_step, (unit for unit in phase.units if not unit.is_hook)))
        if steps and not phase.left_out:
            yield OfferedPhase(title=phase.name.title, gate=_gate_before(phase), steps=steps)


def _gate_before(phase: PlannedPhase) -> str:
    return "Approval" if phase.gated else ""


def _step(unit: Unit) -> OfferedStep:
    step = unit.step
    if step.requires_approval or unit.gated:
        gate = step.approval_type.label if step.approval_type else "Approval"
    else:
        gate = "Confirmation" if step.confirm else ""
    return OfferedStep(title=step.title, gate=gate)
