"""Executes `prompt`, `command` and `skill` steps: the agent is told one step and answers once."""

from runs.executors.agents.choosing import kind_for
from runs.executors.agents.running import Preview, preview, run_agent

__all__ = ["Preview", "kind_for", "preview", "run_agent"]
