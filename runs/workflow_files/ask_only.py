"""Runs for a question that belongs to no run: their one step is the asking."""

from functools import cache

from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.plan import Plan
from runs.workflow_files import library

_ASKING = {
    "id": "ask",
    "description": "A question from a program that has no run.",
    "phases": {"frame": {"steps": [{"id": "ask", "name": "Ask", "remote": True}]}},
}


@cache
def plan() -> Plan:
    return make_plan(library.load_definition(_ASKING, workspace=None).workflows).plan
