"""The moments a new request is given: by its step, else by its workflow, else by its project."""

from dataclasses import replace
from datetime import datetime

from runs.domain.values.moments.durations import maybe_duration
from runs.domain.values.moments.timing import Moments, Timing, moments_of
from runs.domain.values.questions import Action, Question
from runs.models import Project


def columns(question: Question, project: Project, asked_at: datetime) -> dict[str, object]:
    """What a request keeps of it."""
    timing = timing_of(question, project)
    moments = moments_of(timing, asked_at, project.hours)
    return {
        "due_at": moments.due_at,
        "on_timeout": timing.on_timeout,
        "remind_every": str(timing.remind or ""),
        "remind_at": moments.remind_at,
        "escalate_to": list(timing.escalate_to),
        "escalate_at": moments.escalate_at,
        "acts_at": _first(moments, timing),
    }


def timing_of(question: Question, project: Project) -> Timing:
    timing = question.timing.or_else(_usual(project))
    if timing.on_timeout or not timing.due:
        return timing
    return replace(timing, on_timeout=_ends(question, project))


def _usual(project: Project) -> Timing:
    return Timing(
        due=maybe_duration(project.due),
        remind=maybe_duration(project.remind),
        escalate_after=maybe_duration(project.escalate_after),
        escalate_to=tuple(project.escalate_to),
    )


def _ends(question: Question, project: Project) -> str:
    """What a project lets time choose: never more than the end of the run."""
    offered = {o.value for o in question.options if o.action is Action.ABORT}
    return next((name for name in project.on_timeout if name in offered), "")


def _first(moments: Moments, timing: Timing) -> datetime | None:
    return moments.next(times_out=bool(timing.on_timeout))
