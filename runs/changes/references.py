"""The references that keep snapshots' commits in a repository, removed when nobody needs them."""

from collections.abc import Collection
from pathlib import Path

from runs.changes.taking import REFS
from runs.models import CodeSnapshot
from runs.workspaces.git import ask_git


def forget(folder: Path, heads: Collection[str]) -> list[str]:
    """Remove those of removed or pruned runs' snapshots, by their heads, and tell which are gone.

    Only what is named: another site may keep snapshots in the same repository. What a run that
    stays shows too is left, and so is everything where git cannot be asked.
    """
    unneeded = sorted(set(heads) - _still_shown(heads))
    return [head for head in unneeded if _removed(folder, head)]


def _still_shown(heads: Collection[str]) -> set[str]:
    shown = CodeSnapshot.objects.filter(head__in=heads, run__pruned_at=None)
    return set(shown.values_list("head", flat=True))


def _removed(folder: Path, head: str) -> bool:
    name = f"{REFS}/{head}"
    if not ask_git(folder, "show-ref", "--verify", "--quiet", name).ok:
        return False
    return ask_git(folder, "update-ref", "-d", name, head).ok
