"""What the git worktree of a run and its branch are called."""

from uuid import UUID

from runs.domain.values.ids import sanitise

NAMESPACE = "faber"  # all branches are below it
FOLDER = "worktrees"  # inside the data directory; below it a run's id is a path


def branch_name(work_id: str, workflow_id: str, uuid: UUID) -> str:
    return f"{NAMESPACE}/{work_id or sanitise(workflow_id)}-{str(uuid)[:8]}"


def place(run_id: str, inside: str = "") -> str:
    """Where a worktree, or a folder inside it, lies in the data directory."""
    return "/".join(filter(None, (FOLDER, run_id, inside.strip("/"))))
