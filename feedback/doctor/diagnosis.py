"""Finds what is broken in the system: each with its cause, its age and one safe repair."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.db.models import Exists, Q, QuerySet
from django.utils import timezone

from feedback.channels.callbacks import calls
from feedback.doctor import agents, hosts, notices, proxy, room, trackers, webhooks
from feedback.doctor.finding import MOST, PATIENCE, REMEMBERED, Finding
from feedback.models import (
    Callback,
    FeedbackResponse,
    Webhook,
    WriteBack,
)
from feedback.models.requests import open_of_run
from feedback.requests import answers
from runs import engine
from runs.domain.values.status import RunStatus
from runs.isolation import ways
from runs.isolation.sheltering import REPAIR
from runs.jobs import heartbeat, queue
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Job, Lane
from runs.models import Run, StepAttempt, machine
from runs.workspaces import hidden, worktrees

WORKTREES_WANTED = timedelta(days=7)


def findings() -> list[Finding]:
    return [
        *(list(_queue()) or _workers()),
        *hosts.findings(),
        *_isolation(),
        *_git(),
        *room.findings(),
        *proxy.findings(),
        *agents.findings(),
        *_runs(),
        *_worktrees(),
        *_answers(),
        *_returning(),
        *trackers.comments(),
        *_calls(),
        *webhooks.findings(),
        *notices.findings(),
        *trackers.findings(),
    ]


def repair(found: list[Finding]) -> int:
    """Do every repair that a program can do; each is what the sweep would do later."""
    fixes = [finding.fix for finding in found if finding.fix]
    for fix in fixes:
        fix()
    return len(fixes)


def _queue() -> Iterator[Finding]:
    try:
        queue.check()
    except OutOfReach as error:
        yield Finding(
            what="The broker of the job queue is out of reach",
            cause=str(error),
            since=None,
            repair="Start it, or check FABER_CELERY_BROKER_URL. Decisions are recorded meanwhile; "
            "their steps run when it is back.",
        )


def _workers() -> Iterator[Finding]:
    silent = heartbeat.silent(heartbeat.ages())
    if len(silent) == len(Lane):
        yield Finding(
            what="No worker is running",
            cause="no worker has taken a job recently",
            since=None,
            repair="Start one with `faber work` or `faber up`.",
        )
        return
    for lane in silent:
        yield Finding(
            what=f"No worker handles {lane.what}",
            cause="no such job was taken recently, although other workers are running",
            since=None,
            repair="Start another with `faber work` and stop the one that hangs; see its log.",
        )


def _isolation() -> Iterator[Finding]:
    wanted = hidden.isolation()
    if wanted.mode == "off":
        return
    if why := ways.why_not(wanted.hidden):
        yield Finding(
            what="Steps are refused because isolation is not available"
            if wanted.mode == "require"
            else "Steps run without isolation",
            cause=why,
            since=None,
            repair=REPAIR,
        )
    elif Path.home() == wanted.data:
        yield Finding(
            what="Agents can't find their credentials",
            cause="the account's home is the data directory, which steps can't see",
            since=None,
            repair="Set FABER_DATA_DIR to a separate folder, or change the account's home.",
        )


def _git() -> Iterator[Finding]:
    if machine.is_one_of_many() or shutil.which("git"):
        return  # a machine that only serves pages needs none
    yield Finding(
        what="git is not installed",
        cause="it is not on the PATH of this account",
        since=None,
        repair="Install git: `faber init`, worktrees, code changes and the demo need it.",
    )


def isolation_is_off() -> bool:
    """A choice, so nothing that is broken; but whoever looks should know."""
    return hidden.isolation().mode == "off"


def _runs() -> Iterator[Finding]:
    before = timezone.now() - PATIENCE
    lost = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, is_remote=False, lease_until__lt=before
    ).select_related("run")
    for attempt in lost[:MOST]:
        yield Finding(
            what=f"{attempt.key} of {attempt.run.run_id} has no heartbeat",
            cause="its worker stopped reporting",
            since=attempt.lease_until,
            repair="Requeue the step.",
            fix=partial(engine.bring_back, attempt.run_id, seen=attempt.lease_until),
        )
    queued = StepAttempt.objects.filter(
        status=StepAttempt.Status.QUEUED, is_remote=False, queued_at__lt=before
    ).select_related("run")
    for attempt in queued[:MOST]:
        yield Finding(
            what=f"{attempt.key} of {attempt.run.run_id} is waiting for a worker",
            cause="its job is lost, or all workers are busy",
            since=attempt.queued_at,
            repair="Queue it again; a duplicate job does nothing.",
            fix=partial(queue.enqueue, Job.ADVANCE_RUN, attempt.run_id),
        )
    yield from _idle_runs(before)


def _idle_runs(before: datetime) -> Iterator[Finding]:
    """Runs that should be asking or doing something, and are not."""
    quiet = Run.objects.filter(updated_at__lt=before, mirrors="", on_hold=False).defer("plan")
    for run in quiet.filter(pk__in=_asking_nothing()).exclude(
        requests__responses__state=FeedbackResponse.State.HELD
    )[:MOST]:
        yield Finding(
            what=f"{run.run_id} is waiting for a decision without an open request",
            cause="its request is closed, but the run did not resume",
            since=run.updated_at,
            repair="Check the run; an operator can cancel or rerun it.",
        )
    doing = quiet.filter(status=RunStatus.IN_PROGRESS.value)
    for run in doing.exclude(attempts__status__in=StepAttempt.OPEN)[:MOST]:
        yield Finding(
            what=f"{run.run_id} is in progress but has no step",
            cause="it has no open step",
            since=run.updated_at,
            repair="Resume it on its page or with `faber resume`.",
        )


def _asking_nothing() -> "QuerySet[Run, Any]":
    """Runs that wait without an open request: looked for in two indexes, no run is read for it."""
    waiting = Run.objects.filter(status=RunStatus.AWAITING_FEEDBACK.value).order_by()
    return waiting.exclude(Exists(open_of_run())).values("pk")


def _worktrees() -> Iterator[Finding]:
    """Worktrees that nobody works in any more; a fresh one may still be wanted."""
    before = timezone.now() - WORKTREES_WANTED
    for run in worktrees.left_behind(MOST):
        if not run.worktree_kept and (run.completed_at is None or run.completed_at > before):
            continue
        yield Finding(
            what=f"The worktree of {run.run_id} is kept: {worktrees.root_of(run)}",
            cause=run.worktree_kept or f"the run was {run.state.label}",
            since=run.completed_at,
            repair="Save its content, then remove it on the run page."
            if run.worktree_kept
            else "Remove it unless it has uncommitted changes; its branch stays.",
            fix=None if run.worktree_kept else partial(worktrees.discard, run),
        )


def _answers() -> Iterator[Finding]:
    late = FeedbackResponse.objects.filter(
        state=FeedbackResponse.State.HELD, held_until__lt=timezone.now() - PATIENCE
    ).select_related("request")
    for response in late[:MOST]:
        yield Finding(
            what=f"The answer to {response.request.request_id} did not take effect",
            cause="its job is lost",
            since=response.held_until,
            repair="Apply it.",
            fix=partial(answers.take_effect, response.pk),
        )


def _returning() -> Iterator[Finding]:
    before = timezone.now() - PATIENCE
    due = WriteBack.objects.filter(is_due=True, created_at__lt=before)
    for row in due.select_related("response__request__run").order_by("pk")[:MOST]:
        request = row.response.request
        yield Finding(
            what=f"The answer to {request.request_id} is not in {request.run.mirrors}",
            cause=row.last_error or "`faber sync` is not running for that directory",
            since=row.created_at,
            repair="Start `faber sync` for it; it writes the answer once.",
        )


def _calls() -> Iterator[Finding]:
    now = timezone.now()
    stuck = Q(is_due=True) & (~Q(last_error="") | Q(next_try_at__lt=now - PATIENCE))
    over = Q(is_due=False, attempts__gte=calls.TRIES, next_try_at__gt=now - REMEMBERED)
    rows = Callback.objects.filter(stuck | over, delivered_at=None).select_related("request")
    for callback in rows.order_by("pk")[:MOST]:
        yield Finding(
            what=f"The program that asked {callback.request.request_id} was not called back",
            cause=callback.last_error or "its job is lost",
            since=callback.request.closed_at,
            repair="Call it again."
            if callback.is_due
            else f"FABER gave up after {callback.attempts} calls. Call it again.",
            fix=partial(calls.call_now, callback.pk),
        )


def last_heard() -> datetime | None:
    """When a tracker's last delivery came."""
    newest = Webhook.objects.order_by("-received_at").values_list("received_at", flat=True)
    return newest.first()
