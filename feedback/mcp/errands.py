"""What an isolated step has done for it outside, without the protocol: an event of its own run."""

import os
from typing import Any

from feedback.mcp.relay import Json
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError, Invalid, NotAllowed, NotFound, Problem
from runs.engine import work_events
from runs.engine.find import find_run
from runs.engine.work_events import WorkEvent
from runs.models import Run
from runs.terminal import identity
from runs.terminal.console import error_shape

OTHERS = "A step can add events only to its own run."


def done(errand: Json) -> Json:
    """What came of it, for the one inside; it is told of errors in the API's shape."""
    try:
        return emit(errand.get("run"), errand.get("emit"), os.environ.get("FABER_RUN_ID", ""))
    except FaberError as error:
        return error_shape(error)


def emit(reference: object, told: Any, run_id: str) -> Json:
    """Add an event as the agent of a run's step; the run may be named in any way."""
    try:
        event = WorkEvent(**told)
    except TypeError as error:
        raise Invalid([Problem("", "is no event")]) from error
    actor = identity.agent_actor(run_id.strip(), source=Source.CLI)
    own = Run.objects.filter(run_id=run_id.strip())
    try:
        run = find_run(str(reference), seen_by=actor, among=own)
    except NotFound as error:
        raise NotAllowed(OTHERS) from error
    return work_events.add(run.pk, event, actor)
