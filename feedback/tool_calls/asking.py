"""Puts a call to people once, finds it again, and withdraws what nobody waits for.

The same call comes again when its first process died, when the site was restarted, and when two
hooks of the agent fire for it; each time it is the same request.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePath

from django.db import transaction

from feedback.models import FeedbackRequest, ToolCall
from feedback.tool_calls import deciding, tool_input
from feedback.tool_calls.wording import ToolUse, worded
from runs import engine
from runs.accounts import membership
from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.errors import NotFound, Refused
from runs.domain.values.standing.calls import PLAN, canonical
from runs.domain.values.status import RequestStatus, RunStatus
from runs.models import Project, Run, clock, places
from runs.worker import remote

# A process that waits asks again within this time; else it is gone.
WATCHED = timedelta(seconds=30)
ABANDONED = timedelta(seconds=120)
# How long a person's answer still is for the same call, when another event asks about it.
STILL_MEANT = timedelta(seconds=120)
# A plan that was sent back, and never comes again: its session is over.
FORGOTTEN = timedelta(days=1)

# So many equal calls of one session are looked through.
MOST_EQUAL = 50

IN_THE_TERMINAL = "It was decided in the agent's own session."
GONE = "Nobody waits for the answer any more."
ANOTHER_PLAN = "The agent presents another plan."

_SITE = Actor(
    name="faber",
    source=Source.POLICY,
    method="tool_call",
    groups=frozenset({Role.OPERATOR.value}),
    sees_all=True,
)
_FOLLOWS = {"PermissionRequest": "PreToolUse"}
_BEGAN = time.monotonic()


def ask(call: ToolUse, actor: Actor, *, executor: str) -> ToolCall:
    """The call as people have it before them: taken up again, or put to them now."""
    key = key_of(call, actor)
    if known := _taken_up(call, key):
        return known
    with transaction.atomic():
        run = _run_for(call, actor)
        shown = worded(call)
        files = remote.sent_files(shown.files)
        remote.ask(run, shown.question, executor=executor, lease="", files=files, agent=call.kind)
        made = ToolCall.objects.create(
            key=key,
            asker=actor.identity,
            session=call.session,
            tool=call.tool,
            kind=call.subject.kind,
            subject=_kept(call),
            request=FeedbackRequest.objects.get(run=run, status=RequestStatus.PENDING),
            waiter=call.waiter,
            event=call.event,
            polled_at=clock.now(),
        )
        if not _has_secrets(call):
            deciding.decide(made)
    return made


def find(pk: int, actor: Actor) -> ToolCall:
    """A call of one's own: nobody withdraws what another agent asked."""
    found = ToolCall.objects.select_related("request__run").filter(pk=pk, asker=actor.identity)
    call = found.first()
    if call is None:
        raise NotFound("There is no such call of yours.")
    return call


def hand_out(known: ToolCall, event: str) -> None:
    """Remember which event was told the outcome: the next one of its kind is another call."""
    if event not in known.heard:
        heard = [*known.heard, event]
        ToolCall.objects.filter(pk=known.pk).update(heard=heard, polled_at=clock.now())


def leave(known: ToolCall, waiter: str, *, withdraws: bool) -> None:
    """Whoever waited goes; the request stays for another event of the call, unless withdrawn."""
    if known.waiter != waiter:
        return
    ToolCall.objects.filter(pk=known.pk).update(waiter="", polled_at=clock.now())
    if withdraws:
        _withdraw(known.request, IN_THE_TERMINAL)


def withdraw_abandoned(most: int = 50) -> int:
    """Withdraw what nobody waits for; who just began to look gives everybody time to come back."""
    if time.monotonic() - _BEGAN < ABANDONED.total_seconds():
        return 0
    now = clock.now()
    calls = ToolCall.objects.select_related("request__run").order_by("pk")
    gone = calls.filter(request__status=RequestStatus.PENDING, polled_at__lt=now - ABANDONED)
    sent_back = calls.filter(
        tool=PLAN,
        request__run__status=RunStatus.IN_PROGRESS.value,
        polled_at__lt=now - FORGOTTEN,
    )
    found = [*gone[:most], *sent_back[:most]]
    for call in found:
        _withdraw(call.request, GONE)
    return len(found)


def key_of(call: ToolUse, actor: Actor) -> str:
    said = [actor.identity, call.session, call.tool, canonical(call.given)]
    return hashlib.sha256(json.dumps(said).encode(errors="replace")).hexdigest()


def _taken_up(call: ToolUse, key: str) -> ToolCall | None:
    with transaction.atomic():
        equal = ToolCall.objects.select_for_update(of=("self",)).select_related("request")
        calls, now = list(equal.filter(key=key).order_by("-pk")[:MOST_EQUAL]), clock.now()
        known = _waited_for(calls, call) or _left_behind(calls, call, now)
        if known is None:
            return None
        known.waiter, known.event, known.polled_at = call.waiter, call.event, now
        known.save(update_fields=["waiter", "event", "polled_at"])
    return known


def _waited_for(calls: Sequence[ToolCall], call: ToolUse) -> ToolCall | None:
    return next((known for known in calls if known.waiter == call.waiter), None)


def _left_behind(calls: Sequence[ToolCall], call: ToolUse, now: datetime) -> ToolCall | None:
    """The call that was asked about, if this is it, and not an equal one after or beside it.

    An answer is only looked for at the newest: that to an earlier one was for that one alone.
    """
    asked = [known for known in calls if known.request.status == RequestStatus.PENDING]
    newest = [known for known in calls[:1] if known.request.status == RequestStatus.ANSWERED]
    return next((known for known in newest + asked if _is_same(known, call, now)), None)


def _is_same(known: ToolCall, call: ToolUse, now: datetime) -> bool:
    if known.waiter and now - known.polled_at < WATCHED and not known.heard:
        # Somebody else waits: two equal calls at the same time are two. But an event that comes
        # after another has come because that one is over, even if its process could not say so.
        return _FOLLOWS.get(call.event) == known.event
    return call.event not in known.heard and (
        not known.heard or now - known.polled_at < STILL_MEANT
    )


def _run_for(call: ToolUse, actor: Actor) -> Run:
    """A run of its own; a revised plan is the next round of the run it was sent back in."""
    if call.tool == PLAN and (before := _plan_before(call, actor)):
        if before.state is RunStatus.IN_PROGRESS:
            return before
        if not before.state.is_final:
            _cancel(before, ANOTHER_PLAN)
    return remote.start_asking(actor, project=_project_of(call, actor), work_id="")


def _plan_before(call: ToolUse, actor: Actor) -> Run | None:
    before = ToolCall.objects.filter(asker=actor.identity, session=call.session, tool=PLAN)
    newest = before.select_related("request__run").order_by("-pk").first()
    return newest.request.run if newest else None


def _project_of(call: ToolUse, actor: Actor) -> str:
    """The project that is named, else the one whose folder the agent works in."""
    if call.project or not call.folder.startswith("/"):
        return call.project
    folder = PurePath(call.folder)
    kept = [places.stored(place) for place in (folder, *folder.parents)]  # type: ignore[arg-type]
    known = [
        project
        for project in Project.objects.filter(workspace__in=kept)
        if membership.sees(actor, project)
    ]
    return max(known, key=lambda each: len(each.workspace)).name if known else ""


def _kept(call: ToolUse) -> str:
    return str(tool_input.without_secrets(call.subject.text))


def _has_secrets(call: ToolUse) -> bool:
    """What is kept without its secrets could stand for another call: no rule decides it."""
    return tool_input.without_secrets(dict(call.given)) != call.given


def _withdraw(request: FeedbackRequest, reason: str) -> None:
    if not request.run.state.is_final:
        _cancel(request.run, reason)


def _cancel(run: Run, reason: str) -> None:
    try:
        engine.cancel(run.pk, reason=reason, actor=_SITE)
    except Refused:
        return  # it ended in this very moment
