"""Whether the agents that steps will be given to are installed on this machine."""

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from runs.domain.workflow.definition import Step
from runs.domain.workflow.plan import Plan
from runs.executors.agents.choosing import missing_for
from runs.executors.orders import Rules
from runs.models import Project, Run

_ANY = Step(id="any", prompt="Whatever a step without an agent of its own asks for.")


def missing_for_plan(plan: Plan, *, workspace: Path, project: Project | None = None) -> list[str]:
    """A sentence for each agent that is not there; a worker elsewhere may have it all the same."""
    return _missing((unit.step for unit in plan.units), workspace, project)


def missing_for_run(run: Run) -> list[str]:
    """The same for the steps that a run has still before it."""
    if run.is_foreign or run.state.is_final:
        return []
    ahead = run.frozen_plan.units[run.position :]
    return _missing((unit.step for unit in ahead), run.home, run.project)


def missing_by_default() -> list[str]:
    """The same for a step that leaves the agent to the site."""
    return _missing([_ANY], Path.cwd(), None)


def _missing(steps: Iterable[Step], workspace: Path, project: Project | None) -> list[str]:
    rules = Rules(
        agent_command=settings.FABER_AGENT_COMMAND, project_agent=project.agent if project else ""
    )
    return missing_for(steps, rules, workspace)
