"""Has a run's steps executed on the machine that has its folder as the last step left it."""

import time
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

from runs.engine import Claim
from runs.jobs import queue, register
from runs.jobs.table import Job
from runs.models import Run, StepAttempt, clock, machine
from runs.workspaces import recognising, worktrees

# How long what was seen of the other machines holds: a look costs about as much as a step.
_HOLDS_SECONDS = 30
_HOW_TO_LABEL = "Set FABER_WORKER_LABELS on {} and start `faber work` there, then retry."


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another machine has to execute the step."""

    host: str


@dataclass(frozen=True, slots=True)
class Nowhere:
    """No machine can execute the step; why, and what helps."""

    why: str


def look(claim: Claim) -> Elsewhere | Nowhere | None:
    """Where a step must be executed that was taken here; None when here is right."""
    needed = _needed(claim)
    if not needed <= set(settings.FABER_WORKER_LABELS):
        return _labelled(claim.run, needed)
    place = _with_folder(claim.run)
    if needed and isinstance(place, Elsewhere) and place.host not in register.with_labels(needed):
        return Nowhere(
            f"it needs {_listed(needed)}, and its folder {claim.run.home} is on {place.host}, "
            f"which does not have that. {_HOW_TO_LABEL.format(place.host)}"
        )
    return place


def is_surely_here(claim: Claim) -> bool:
    """Whether here is right, as far as that is known without asking anybody."""
    is_fit = _needed(claim) <= set(settings.FABER_WORKER_LABELS)
    return is_fit and (not machine.is_one_of_many() or _is_ours(claim.run))


def _needed(claim: Claim) -> set[str]:
    return {*claim.run.project.needs, *claim.unit.step.needs}


def _labelled(run: Run, needed: set[str]) -> Elsewhere | Nowhere:
    """A machine with these labels; the one that has the folder, if it is among them."""
    fitting = register.with_labels(needed)
    if fitting:
        return Elsewhere(run.host if run.host in fitting else fitting[0])
    return Nowhere(
        f"it needs a worker with {_listed(needed)}, and none is running. "
        f"{_HOW_TO_LABEL.format('a machine that has that')}"
    )


def _listed(labels: set[str]) -> str:
    return ", ".join(sorted(labels))


def _with_folder(run: Run) -> Elsewhere | Nowhere | None:
    if not machine.is_one_of_many() or _is_ours(run):
        return None
    found = _executed_elsewhere(run) if run.host else _not_begun(run)
    if found is None:
        # Kept with the step's result: until there is one, nothing of it has to be found again.
        run.host, run.host_identity = machine.name(), machine.identity()
        run.folder_mark = recognising.mark_of(run)
    return found


def hand_on(claim: Claim, host: str) -> None:
    """Give a step that was taken here to the workers of another machine."""
    waiting = {"status": StepAttempt.Status.QUEUED, "worker": "", "lease_until": None}
    held = StepAttempt.objects.filter(
        pk=claim.attempt.pk, worker=claim.attempt.worker, status=StepAttempt.Status.RUNNING
    )
    if held.update(**waiting, host=host, queued_at=clock.now()):
        queue.hand_to(host, Job.ADVANCE_RUN, claim.run.pk)


def is_for_us(attempt: StepAttempt) -> bool:
    """Whether no other machine is to execute the step; one that is gone will not."""
    return attempt.host in ("", machine.name()) or not register.may_come_back(attempt.host)


def has_others() -> bool:
    """Whether a machine with a clone of its own may have to go on from what a step leaves."""
    return machine.is_one_of_many() and _has_others(int(time.monotonic() // _HOLDS_SECONDS))


def note_commit(run: Run, *, is_shared: bool) -> None:
    """Remember what a step left, so that another machine can go on from it."""
    if machine.is_one_of_many():
        run.left_commit = recognising.clean_commit(run) if is_shared else ""


@lru_cache(maxsize=1)
def _has_others(_period: int) -> bool:
    return register.has_others()


def _is_ours(run: Run) -> bool:
    return (run.host, run.host_identity) == (machine.name(), machine.identity())


def _executed_elsewhere(run: Run) -> Elsewhere | Nowhere | None:
    if run.home.is_dir() and _is_same_folder(run):
        return None
    if run.host != machine.name() and register.may_come_back(run.host):
        return Elsewhere(run.host)
    if run.left_commit and recognising.has_commit(run, run.left_commit):
        return None
    return Nowhere(_gone(run))


def _is_same_folder(run: Run) -> bool:
    if run.folder_mark and run.folder_mark == recognising.mark_of(run):
        return True
    if not register.was_called(run.host, run.host_identity):
        return False
    return not run.left_commit or recognising.has_commit(run, run.left_commit)


def _not_begun(run: Run) -> Elsewhere | Nowhere | None:
    """A first step can be executed wherever the folder is."""
    if run.home.is_dir():
        return None
    folder = run.worktree_of or run.workspace
    register.note_missing(folder)
    having = register.with_folder(folder)
    if not having:
        others = register.others()
        if not others:
            return None  # what is missing is told as on a single machine
        asked = ", ".join(sorted({machine.name(), *(host.name for host in others)}))
        return Nowhere(
            f"no machine of this site has the folder {run.home} (checked {asked}). "
            "Clone or mount it on one of them, then retry."
        )
    started_on = str(run.environment.get("hostname", ""))
    return Elsewhere(started_on if started_on in having else having[0])


def _gone(run: Run) -> str:
    here, place = machine.name(), str(run.home)
    if run.worktree_of:
        place = f"the branch {worktrees.branch_of(run)} of {place}"
    worked = register.last_worked(run.host)
    since = f" since {worked:%Y-%m-%d %H:%M} UTC" if worked else ""
    if not run.left_commit:
        return (
            f"its last step ran in {run.home} on {run.host}, which has had no worker{since}; "
            f"{here} does not have its files. Start `faber work` on {run.host}, "
            "then retry."
        )
    return (
        f"its last step left {place} on {run.host} at commit {run.left_commit[:12]}; {run.host} "
        f"has had no worker{since}, and {here} does not have that commit. Start `faber work` on "
        f"{run.host}, or bring {place} on {here} to that commit, then retry."
    )
