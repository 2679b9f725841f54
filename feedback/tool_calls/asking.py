"""Puts a call to people once, finds it again, and withdraws what nobody waits for.

The same call comes again when its first process died, when the site was restarted, and when two
hooks of the agent fire for it; each time it is the same request.
"""

import hashlib
import json
import time
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
        remote.ask(run, shown.question, executor=executor, lease="", files=files)
        made = ToolCall.objects.create(
            key=key,
            asker=actor.identity,
            session=call.session,
            tool=call.tool,
            kind=call.subject.kind,
            subject=_kept(call),
            request=FeedbackRequest.objects.get(run=run, status=RequestStatus.PENDING),
            waiter=call.waiter,
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
        newest = (
            ToolCall.objects.select_for_update(of=("self",))
            .select_related("request")
            .filter(key=key)
            .order_by("-pk")
            .first()
        )
        now = clock.now()
        if newest is None or not _is_same(newest, call, now):
            return None
        newest.waiter, newest.polled_at = call.waiter, now
        newest.save(update_fields=["waiter", "polled_at"])
    return newest


def _is_same(known: ToolCall, call: ToolUse, now: datetime) -> bool:
    """Whether this is the call that was asked about, and not an equal one after or beside it."""
    if known.waiter == call.waiter:
        return True
    if known.request.status not in (RequestStatus.PENDING, RequestStatus.ANSWERED):
        return False
    if known.waiter and now - known.polled_at < WATCHED and not known.heard:
        return False  # somebody else waits: two equal calls at the same time are two
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
