"""Tells whether a folder on this machine is the one that a run's last step left on another."""

import hashlib
import os
from pathlib import Path

from runs.models import Run, machine, places
from runs.workspaces import worktrees
from runs.workspaces.git import ask_git, git

# File systems of which several machines see the same files.
_SHARED = ("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "fuse.glusterfs")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MOUNTS = Path("/proc/self/mountinfo")


def mark_of(run: Run) -> str:
    """The same for the same folder, whichever machine looks at it; nothing when it is not there."""
    folders = [run.folder, run.home] if run.worktree_of else [run.folder]
    marks = [_mark(folder) for folder in folders]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest() if all(marks) else ""


def is_here(run: Run) -> bool:
    """Whether this machine has the folder of a run that was executed before, and no copy of it."""
    if not run.host or not machine.is_one_of_many():
        return True
    if (run.host, run.host_identity) == (machine.name(), machine.identity()):
        return True
    return bool(run.folder_mark) and run.folder_mark == mark_of(run)


def clean_commit(run: Run) -> str:
    """The commit a run's folder stands at; nothing where something is not committed."""
    if not worktrees.needed_by(run):
        return ""
    status = worktrees.sheltered(run, run.folder, "status", "--porcelain")
    return git(run.folder, "rev-parse", "HEAD") if status.ok and not status.text else ""


def has_commit(run: Run, commit: str) -> bool:
    """Whether what the run would work on here contains the commit."""
    made = run.folder.is_dir() or not run.worktree_of
    folder, tip = (run.folder, "HEAD") if made else (run.home, worktrees.branch_of(run))
    return ask_git(folder, "merge-base", "--is-ancestor", commit, tip).ok


def _mark(folder: Path) -> str:
    kept = places.stored(folder)
    if not Path(kept).is_absolute():
        return f"{machine.identity()} {kept}"  # goes where the data directory goes
    try:
        there = folder.stat()
        device = f"{os.major(there.st_dev)}:{os.minor(there.st_dev)}"
        source = _shared_source(device)
        return f"{source or f'{_BOOT.read_text().strip()} {device}'} {there.st_ino}"
    except OSError:
        return ""


def _shared_source(device: str) -> str:
    """Where a shared file system comes from; nothing for a disk of this machine."""
    for line in _MOUNTS.read_text().splitlines():
        words = line.split(" ")
        if words[2] == device:
            kind, source = words[words.index("-") + 1 :][:2]
            # Whatever is reached through this machine itself may be another on the next.
            is_local = source.startswith(("127.", "localhost", "[::1]"))
            return f"{kind} {source}" if kind in _SHARED and not is_local else ""
    return ""
