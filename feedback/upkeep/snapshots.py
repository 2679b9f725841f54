"""References that keep snapshots alive in repositories; what they showed is in the database."""

from collections.abc import Sequence

from runs.changes.taking import REFS
from runs.models import CodeSnapshot, Run
from runs.workspaces.git import ask_git


def drop_refs(runs: Sequence[Run]) -> int:
    """Remove those of these runs, unless a run that is not pruned shows the same commit."""
    removed = 0
    for run in runs:
        heads = set(CodeSnapshot.objects.filter(run=run).values_list("head", flat=True))
        if not heads or not run.home.is_dir():
            continue
        others = CodeSnapshot.objects.filter(head__in=heads, run__pruned_at=None)
        for head in sorted(heads - set(others.values_list("head", flat=True))):
            removed += _drop(run, head)
    return removed


def _drop(run: Run, head: str) -> bool:
    ref = f"{REFS}/{head}"
    is_there = ask_git(run.home, "show-ref", "--verify", "--quiet", ref).ok
    return is_there and ask_git(run.home, "update-ref", "-d", ref).ok
