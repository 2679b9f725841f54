"""Looks at what a run changed, where its folder is; a look that fails is a note, never an error."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from runs.changes import taking
from runs.changes.values import EarlierTree, Looked
from runs.domain.values.background import CHANGES_NOTE
from runs.domain.values.questions import Question
from runs.domain.workflow.plan import Unit
from runs.models import Run
from runs.workspaces import aside, recognising, worktrees
from runs.workspaces.aside import GitFailed, Repository

logger = logging.getLogger(__name__)

Since = EarlierTree | Callable[[], EarlierTree | None] | None

_UNKNOWN = "unknown"  # what a run's environment says where there was no commit


def place_of(unit: Unit, question: Question) -> str:
    """By which rounds of the same question know each other."""
    return f"{question.gate.value} {unit.key}"[:200]


def told(question: Question, looked: Looked) -> Question:
    """The question with what its reviewers cannot see of the changes."""
    if not looked.note:
        return question
    return replace(question, context={**question.context, CHANGES_NOTE: looked.note})


def look(run: Run, place: str, since: Since) -> Looked:
    """A snapshot of what the run changed so far; nothing where there is no repository.

    `since` is what the round before showed, or how to find that.
    """
    try:
        repository = repository_of(run)
        base = base_of(run) if repository else None
        if repository is None or base is None:
            return Looked(place=place)
        earlier = since() if callable(since) else since
        taken, note = taking.take(repository, base, since=earlier)
    except (GitFailed, OSError) as error:
        logger.warning("the code changes of %s could not be read: %s", run.run_id, error)
        return Looked(place=place, note=f"Could not read the code changes: {error}.")
    return Looked(place=place, taken=taken, note=note)


def tree_now(run: Run) -> str:
    """The name of what is in the run's repository now; nothing where that cannot be told."""
    try:
        repository = repository_of(run)
        return taking.tree_of(repository) if repository else ""
    except (GitFailed, OSError) as error:
        logger.warning("the code of %s could not be compared: %s", run.run_id, error)
        return ""


def repository_of(run: Run) -> Repository | None:
    folder = run.folder
    # Most folders are in no repository, and that can be seen without asking git.
    if run.is_foreign or not _has_repository(folder) or not recognising.is_here(run):
        return None
    found = aside.find(folder)
    return found if found and not _is_the_site_in(found, folder) else None


def _has_repository(folder: Path) -> bool:
    return folder.is_dir() and any((each / ".git").exists() for each in (folder, *folder.parents))


def _is_the_site_in(found: Repository, folder: Path) -> bool:
    """Whether the folder is the site's own, in a data directory that lies in a repository."""
    data = Path(settings.FABER_DATA_DIR).resolve()
    return folder.is_relative_to(data) and not found.top.is_relative_to(data)


def base_of(run: Run) -> str | None:
    """The commit the run began at; nothing before the first commit, None when nobody knows."""
    if run.worktree_of:
        return run.base_commit or worktrees.left_at(run) or None
    began = run.environment.get("git_commit")
    if not isinstance(began, str):
        return None
    return "" if began == _UNKNOWN else began
