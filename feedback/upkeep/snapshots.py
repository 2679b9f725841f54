"""References that keep snapshots alive in repositories; what they showed is in the database."""

from collections.abc import Sequence

from runs.changes import references
from runs.models import CodeSnapshot, Run


def drop_refs(runs: Sequence[Run]) -> int:
    """Remove those of runs that were pruned."""
    removed = 0
    for run in runs:
        heads = set(CodeSnapshot.objects.filter(run=run).values_list("head", flat=True))
        if heads and run.home.is_dir():
            removed += len(references.forget(run.home, heads))
    return removed
