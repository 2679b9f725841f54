"""Which tracker a project's issues are in: the one it names, else the first that is set up."""

from collections.abc import Sequence
from importlib import import_module
from typing import cast

from django.conf import settings

from runs.trackers.asking import Service
from runs.trackers.values import Place, Tracker


def service(tracker: Tracker) -> Service:
    """How to ask that tracker; its module is named in the settings, as it stands above this one."""
    return cast("Service", import_module(settings.FABER_TRACKERS[tracker]))


def running() -> list[Tracker]:
    """The trackers with credentials."""
    return [tracker for tracker in Tracker if service(tracker).is_on()]


def tracker_of(named: str) -> Tracker | None:
    """The tracker of a project that names this one, or none; None when it is off."""
    wanted = [Tracker(named)] if named else list(Tracker)
    return next((tracker for tracker in wanted if service(tracker).is_on()), None)


def names_of(tracker: Tracker) -> Sequence[str]:
    """What a project on this tracker may have for a name of it."""
    return (tracker, "") if tracker_of("") is tracker else (tracker,)


def place_of(named: str, project: str, work_id: str) -> Place | None:
    """The issue a work id names, for a project that names this tracker, or none."""
    tracker = tracker_of(named)
    return service(tracker).place_of(project, work_id) if tracker else None
