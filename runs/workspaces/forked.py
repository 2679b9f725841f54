"""Brings the worktree of a forked run to what the original had when it stood at that point."""

from collections.abc import Sequence
from pathlib import Path

from runs.domain.values.errors import Refused
from runs.domain.values.plain_json import given
from runs.models import Artifact, Run, StepAttempt
from runs.workspaces import worktrees
from runs.workspaces.files import NotOrdinary, open_ordinary, replace_ordinary
from runs.workspaces.git import git

_MOST_NAMED = 5
_MOST_KEPT = 200  # uncommitted files that are remembered; more cannot be brought back anyway


def left_by_step(run: Run) -> dict[str, object] | None:
    """The commit a step left the worktree at, and the files it did not commit."""
    if not run.worktree_of or not run.folder.is_dir():
        return None
    words = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all")
    status = worktrees.sheltered(run, run.folder, *words)
    commit = git(run.folder, "rev-parse", "HEAD")
    if not status.ok or not commit:
        return None
    changed = [_path_in(entry) for entry in status.text.split("\0") if entry]
    return {"commit": commit, "uncommitted": changed[: _MOST_KEPT + 1]}


def _path_in(entry: str) -> str:
    """`1 XY sub mH mI mW hH hI path`, `u` with two fields more, or `? path`."""
    fields = {"1": 8, "u": 10}.get(entry[:1], 1)
    return entry.split(" ", fields)[-1]


def commit_after(original: Run, last: StepAttempt | None, files: Sequence[Artifact]) -> str:
    """The commit to go back to; refused where that would not be what the original had."""
    if last is None:
        commit = original.base_commit
    else:
        left = last.left_at or {}
        commit = str(left.get("commit", ""))
        kept = {str(_inside(original) / file.path) for file in files}
        lost = [path for path in given(left, "uncommitted", list) if str(path) not in kept]
        if lost:
            more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
            raise Refused(
                f"After {last.key} these files were not committed, so that run can't be taken up "
                f"there: {', '.join(map(str, lost[:_MOST_NAMED]))}{more}."
            )
    if not commit or not git(original.home, "rev-parse", "--verify", f"{commit}^{{commit}}"):
        what = f"commit {commit[:12]}" if commit else "commit of that point"
        raise Refused(f"The {what} is not known in {original.home}. Run it again from the start.")
    return commit


def _inside(run: Run) -> Path:
    """Where in its repository the run works."""
    return run.folder.relative_to(worktrees.root_of(run)) if run.worktree_of else Path()


def bring_back(run: Run) -> None:
    """Write the files that were taken over where the commit does not have them so.

    Until a step of its own has ended: what that made of a file is never undone.
    """
    if not run.fork_commit:
        return
    if run.attempts.filter(taken_over_from="", finished_at__isnull=False).exists():
        return
    root = run.folder.resolve()
    newest = {file.path: file for file in run.revisions.order_by("path", "revision")}
    for path, kept in newest.items():
        file = root / path
        if not file.resolve().is_relative_to(root):
            continue
        if _content(file, kept.size) != bytes(kept.content):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.resolve() != file:
                raise NotOrdinary
            file.touch()
            replace_ordinary(file, bytes(kept.content))


def _content(file: Path, size: int) -> bytes | None:
    try:
        with open_ordinary(file) as opened:
            return opened.read(size + 1)
    except FileNotFoundError:
        return None
