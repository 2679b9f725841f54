"""Executes `prompt`, `command` and `skill` steps through an agent; it knows nothing of runs."""

from runs.executors.agents.choosing import kind_for
from runs.executors.agents.running import Preview, ask_agent, preview, run_agent

__all__ = ["Preview", "ask_agent", "kind_for", "preview", "run_agent"]
