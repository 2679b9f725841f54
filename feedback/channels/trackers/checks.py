"""The check on the pull request of a run: pending until its gates are decided."""

import hashlib
import re
from dataclasses import dataclass

from feedback.models import Delivery, FeedbackRequest
from feedback.requests import outbox
from feedback.requests.request_json import request_url
from runs import trackers
from runs.domain.planning import forks
from runs.domain.values.plain_json import text_at
from runs.domain.values.questions import Action, Gate
from runs.domain.values.status import RequestStatus, RunStatus
from runs.domain.values.text import one_line
from runs.engine.concealing import concealed
from runs.models import Run
from runs.record import state_json
from runs.record.endings import ending_of
from runs.trackers import CheckState, Place, Tracker, TrackerClient

_LONGEST = 140  # GitHub refuses a longer description
_GATES = (Gate.PHASE, Gate.BEFORE_STEP, Gate.AFTER_STEP)
_NUMBER = re.compile(r"(?:/(?:pull|merge_requests)/)?([0-9]{1,9})/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckShown:
    state: CheckState
    description: str
    url: str


def pull_of(run: Run) -> Place | None:
    """The pull request that a run says it opened, if it is one of its project's repository."""
    project, url = run.project, str(run.artifacts.get("pr_url") or "")
    named = str(run.artifacts.get("pr_number") or "") or url.rpartition("/")[2]
    number = _NUMBER.fullmatch(named)
    is_ours = not url or f"/{project.tracked_as}/".casefold() in url.casefold()
    tracker = trackers.tracker_of(project.tracker)
    if not number or not is_ours or tracker is None:
        return None
    prefix = "mr-" if tracker is Tracker.GITLAB else ""
    return trackers.place_of(project.tracker, project.tracked_as, f"{prefix}{number[1]}")


def shown_of(run: Run) -> CheckShown | None:
    """How the check stands; None where nobody is asked, so that there is nothing to wait for."""
    if asked := run.requests.filter(status=RequestStatus.PENDING).first():
        title = f"Waiting for a decision: {asked.title}"
        return _shown(CheckState.PENDING, title, request_url(asked))
    if run.state is RunStatus.CANCELLED:
        ended = str(ending_of(run) or "The run was cancelled")
        return _shown(CheckState.FAILURE, ended, state_json.run_url(run))
    is_done = run.state is RunStatus.COMPLETED
    if not is_done and any(forks.gates_ahead(run.frozen_plan, run.position)):
        return _shown(CheckState.PENDING, "A decision follows", state_json.run_url(run))
    if run.state is RunStatus.FAILED:
        return _shown(CheckState.PENDING, "The run has stopped", state_json.run_url(run))
    approved = _last_approval(run)
    if approved is None or approved.decision is None:
        return None
    said = f"{approved.decision.response} by {approved.decision.who}"
    return _shown(CheckState.SUCCESS, said, request_url(approved))


def _last_approval(run: Run) -> FeedbackRequest | None:
    decided = run.requests.filter(status=RequestStatus.ANSWERED, gate__in=_GATES).order_by("-pk")
    return next(
        (
            each
            for each in decided.prefetch_related("responses")
            if each.decision and Action(each.decision.action) is Action.CONTINUE
        ),
        None,
    )


def _left_by(run: Run) -> str:
    """The commit that the last step left in the run's own worktree; empty: it has none."""
    left = run.attempts.exclude(left_at=None).order_by("-pk").values_list("left_at", flat=True)
    return text_at(left.first(), "commit")


def _shown(state: CheckState, said: str, url: str) -> CheckShown:
    return CheckShown(state=state, description=one_line(concealed(said), _LONGEST), url=url)


def bring_up_to_date(client: TrackerClient, delivery: Delivery, turn: outbox.Turn) -> str:
    """Set the check where it is not what it should be; gives what is remembered of it."""
    shown = shown_of(delivery.run) if delivery.run else None
    if shown is None:
        return delivery.shown
    commit = client.head_of(delivery.place)
    # People decided on the commit that waited for them, or what the run made of their decision:
    # what others pushed since is not approved.
    if shown.state is CheckState.SUCCESS and delivery.run:
        commit = delivery.commit or _left_by(delivery.run) or commit
    digest = hashlib.sha256(f"{commit} {shown}".encode()).hexdigest()
    if digest != delivery.shown:
        turn.check()
        client.set_check(delivery.place, commit, shown.state, shown.description, shown.url)
    if commit != delivery.commit:
        Delivery.objects.filter(pk=delivery.pk).update(commit=commit)
    return digest
