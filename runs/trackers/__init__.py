"""What FABER asks of any tracker, as values and protocols, and which one a project is on."""

from runs.trackers.asking import Options, Service, TrackerClient
from runs.trackers.choice import (
    names_of,
    place_of,
    running,
    service,
    tracker_of,
)
from runs.trackers.errors import (
    NotThere,
    RefusedCredentials,
    Slowed,
    TrackerError,
    Unreachable,
)
from runs.trackers.values import (
    AWAITING_LABEL,
    GHOST,
    CheckState,
    Comment,
    Issue,
    News,
    Permission,
    Place,
    Signal,
    SignalKind,
    Signals,
    Tracker,
    TrackerUser,
)

__all__ = [
    "AWAITING_LABEL",
    "GHOST",
    "CheckState",
    "Comment",
    "Issue",
    "News",
    "NotThere",
    "Options",
    "Permission",
    "Place",
    "RefusedCredentials",
    "Service",
    "Signal",
    "SignalKind",
    "Signals",
    "Slowed",
    "Tracker",
    "TrackerClient",
    "TrackerError",
    "TrackerUser",
    "Unreachable",
    "names_of",
    "place_of",
    "running",
    "service",
    "tracker_of",
]
