"""Gives a run a git worktree of its own: made before its first step, found again, removed."""

import shutil
from contextlib import suppress
from pathlib import Path

from runs.domain.values.errors import FaberError, Invalid, Problem, Refused
from runs.domain.values.status import RunStatus
from runs.isolation import sheltering
from runs.isolation.ways import Unavailable
from runs.models import Run, places
from runs.workspaces import hidden
from runs.workspaces.files import open_ordinary
from runs.workspaces.git import GitAnswer, ask_git
from runs.workspaces.names import FOLDER, NAMESPACE, branch_name, place

# Large code bases take their time to be written to the disk.
_SECONDS = 600
_UNFINISHED = "initializing"  # how git marks a worktree that it has not finished
_LONGEST_LINE = 10_000
_LEAVING = ".removing"
_NAMED = 5  # files that a sentence names


class NotReady(FaberError):
    """The folder of the run cannot be worked in."""

    code = "workspace"


def check(workspace: Path, base: str) -> str:
    """Where in its repository the folder lies; raises when no worktree can be made there."""
    inside = ask_git(workspace, "rev-parse", "--show-prefix")
    if not inside.ok:
        why = f"{workspace} is not in a git repository, so it can't have worktrees"
        raise Invalid([Problem("workspace", why)])
    if not commit_of(workspace, base):
        why = f"branch {base}" if base else "commit"
        raise Invalid([Problem("workspace", f"{workspace} has no {why} to create a worktree from")])
    if ask_git(workspace, "show-ref", "--verify", f"refs/heads/{NAMESPACE}").ok:
        why = f"the branch {NAMESPACE} of {workspace} must be renamed first: "
        why += f"git can't create branches {NAMESPACE}/… beside it"
        raise Invalid([Problem("workspace", why)])
    return inside.text


def ready(run: Run) -> Path:
    """The folder a step is executed in; a worktree is made or found again first.

    Whoever calls holds the run's step, so nobody does the same at the same time.
    """
    if not run.worktree_of:
        return run.folder
    if not _is_linked(run) and not _relinked(run):
        _make(run)
    if not run.folder.is_dir():
        inside = run.folder.relative_to(root_of(run))
        raise NotReady(f"There is no folder {inside} on the branch {branch_of(run)}.")
    return run.folder


def root_of(run: Run) -> Path:
    """The worktree itself; the run may work in a folder inside it."""
    return places.found(place(run.run_id))


def needed_by(run: Run) -> tuple[Path, ...]:
    """The folders besides its own that a run cannot work without, wherever they lie."""
    if run.worktree_of:
        return root_of(run), _top_of(run)
    # A repository may begin above the folder; what stands in its files is not asked.
    above = (run.folder, *run.folder.parents)
    return tuple(folder for folder in above if (folder / ".git").exists())[:1]


def branch_of(run: Run) -> str:
    return branch_name(run.work_id, run.workflow_id, run.uuid)


def is_there(run: Run) -> bool:
    return bool(run.worktree_of) and root_of(run).exists()


def tidy(run_pk: int) -> None:
    """Remove the worktree of a completed run, unless something would be lost with it."""
    discard(Run.objects.get(pk=run_pk))


def remove(run: Run) -> None:
    """An operator needs an ended run's worktree no more; its branch stays."""
    if not run.state.is_final:
        raise Refused(
            f"The run is {run.state.label}. Its worktree can be removed once it has ended."
        )
    if not is_there(run):
        raise Refused("The run has no worktree.")
    if why := discard(run):
        raise Refused(f"The worktree is kept: {why}.")


def discard(run: Run) -> str:
    """Remove the worktree of an ended run, or tell why it is kept."""
    return _remove(run) if run.state.is_final and is_there(run) else ""


def catch_up(most: int = 100) -> None:
    """Do what jobs that died should have done; what is kept for a reason is left alone."""
    for run in _on_this_disk(_LEAVING, most):
        _finish(run)
    for run in left_behind(most):
        if run.state is RunStatus.COMPLETED and not run.worktree_kept:
            discard(run)


def left_behind(most: int = 100) -> list[Run]:
    """Ended runs whose worktree is still on this machine."""
    return [run for run in _on_this_disk("", most) if run.state.is_final]


def _on_this_disk(ending: str, most: int) -> list[Run]:
    # By what is on the disk, which is little; rows of ended runs are many.
    above = places.found(FOLDER)
    folders = sorted(above.glob(f"*/*/*{ending}")) if above.is_dir() else []
    names = [folder.relative_to(above).as_posix().removesuffix(ending) for folder in folders]
    runs = Run.objects.filter(run_id__in=names[:most]).exclude(worktree_of="").defer("plan")
    return list(runs)


# Making


def _make(run: Run) -> None:
    root, home, branch = root_of(run), run.home, branch_of(run)
    if _is_half_made(root):
        shutil.rmtree(root)
    if root.exists() and any(root.iterdir()):
        # Never deleted: it may hold work that is nowhere else.
        raise NotReady(
            f"{root} is no longer a worktree of {home}. Save what you need and delete it; "
            f"FABER then creates it again from the branch {branch}."
        )
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Forced twice, as git may have registered this very folder before it was killed. Nothing is
    # pruned: that would forget other runs' worktrees whose data directory was just moved.
    words = ["worktree", "add", "--quiet", "--force", "--force"]
    if ask_git(home, "show-ref", "--verify", f"refs/heads/{branch}").ok:
        wanted = [str(root), branch]
    else:
        begins = run.fork_commit or commit_of(home, run.project.base_branch)
        run.base_commit = (run.fork_commit and run.base_commit) or begins
        wanted = ["--no-track", "-b", branch, str(root), begins or "HEAD"]
    root.mkdir(mode=0o700, exist_ok=True)  # what is not there cannot be shown to git
    made = sheltered(run, home, *words, *wanted)
    if not made.ok:
        with suppress(OSError):
            root.rmdir()
        raise NotReady(f"Could not create a worktree of {home}: {made.text}")
    Run.objects.filter(pk=run.pk).update(base_commit=run.base_commit)


def left_at(run: Run) -> str:
    """Where a worktree left the base branch, if nobody wrote it down when it was made."""
    base = commit_of(run.home, run.project.base_branch)
    return ask_git(run.folder, "merge-base", "HEAD", base).text if base else ""


def commit_of(workspace: Path, base: str) -> str:
    """The commit a worktree begins with; nothing when there is none."""
    if base.startswith("-"):
        return ""
    found = ask_git(workspace, "rev-parse", "--verify", "--quiet", f"{base or 'HEAD'}^{{commit}}")
    return found.text if found.ok else ""


def sheltered(run: Run, folder: Path, *words: str) -> GitAnswer:
    """git where it may execute filters: isolated, for a step may have set them up."""
    try:
        shelter = sheltering.prefix(hidden.isolation(), folder=Path("/"), kept=needed_by(run))
    except Unavailable as error:
        return GitAnswer(False, f"could not isolate git: {error}")
    return ask_git(folder, *words, seconds=_SECONDS, shelter=shelter)


# The link between a worktree and its repository: a file on either side that names the other


def _is_linked(run: Run) -> bool:
    root = root_of(run)
    record = _record_of(root)
    if record is None or _is_half_made(root):
        return False
    return _path_in(record / "gitdir") == root / ".git"


def _relinked(run: Run) -> bool:
    """Tie a worktree to its repository again after one of them, or both, moved."""
    root = root_of(run)
    record = _record_of(root)
    if record is None or _is_half_made(root):
        return False
    # Not with `git worktree repair`: in a copy it would bend the link of the original.
    record = _records_of(run) / record.name
    if not (record / "gitdir").is_file():
        return False
    (record / "gitdir").write_text(f"{root / '.git'}\n")
    (root / ".git").write_text(f"gitdir: {record}\n")
    return True


def _record_of(root: Path) -> Path | None:
    """Where the repository keeps its record of the worktree, as the worktree tells."""
    return _path_in(root / ".git")


def _records_of(run: Run) -> Path:
    top = _top_of(run)
    common = top / ".git"
    if not common.is_dir():  # itself a worktree, or a submodule
        common = top / (ask_git(top, "rev-parse", "--git-common-dir").text or ".git")
    return common.resolve() / "worktrees"


def _top_of(run: Run) -> Path:
    """The repository that the worktree was made of."""
    depth = len(run.folder.relative_to(root_of(run)).parts)
    return run.home.parents[depth - 1] if depth else run.home


def _path_in(file: Path) -> Path | None:
    try:
        named = _line_in(file).removeprefix("gitdir: ")
    except OSError:
        return None
    return (file.parent / named).resolve() if named else None


def _line_in(file: Path) -> str:
    """What a small file says; a step may have put anything in its place."""
    with open_ordinary(file) as opened:
        return opened.read(_LONGEST_LINE).decode(errors="replace").strip()


def _is_half_made(root: Path) -> bool:
    """Whether git was killed while it made the worktree; no step has seen it yet."""
    record = _record_of(root)
    try:
        return record is not None and _line_in(record / "locked") == _UNFINISHED
    except OSError:
        return False


# Removing


def _remove(run: Run) -> str:
    """Remove the worktree, or tell why it is kept."""
    why = _why_kept(run)
    if not why:
        with suppress(FileNotFoundError):  # somebody else may be quicker
            # In one stroke: what is half deleted would look like somebody's changes.
            root_of(run).rename(_leaving(run))
        _finish(run)
    if why != run.worktree_kept:
        Run.objects.filter(pk=run.pk).update(worktree_kept=why[:500])
    return why


def _finish(run: Run) -> None:
    ask_git(run.home, "worktree", "remove", "--force", str(root_of(run)))
    shutil.rmtree(_leaving(run), ignore_errors=True)


def _leaving(run: Run) -> Path:
    return places.found(place(run.run_id) + _LEAVING)


def _why_kept(run: Run) -> str:
    root = root_of(run)
    if not _is_linked(run) and not _relinked(run):
        return f"it is no longer a worktree of {run.home}"
    status = sheltered(run, root, "status", "--porcelain")
    if not status.ok:
        return status.text
    changed = [line[2:].strip() for line in status.text.splitlines()]
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        return f"it has uncommitted changes: {', '.join(changed[:_NAMED])}{more}"
    if not ask_git(root, "for-each-ref", "--contains", "HEAD", "--count=1").text:
        return "its last commits are not on any branch"
    record = _record_of(root)
    if record and (record / "modules").exists():
        return "it has submodules whose commits may exist nowhere else"
    return ""
