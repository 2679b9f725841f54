"""Puts the files that an approver edited into the folder of their run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runs.models import Run
from runs.workspaces import aside
from runs.workspaces.files import NotOrdinary, open_ordinary, replace_ordinary

REPOSITORY = "repository"  # what a path that code changes name begins at; others at the folder


def write(run: Run, edits: Iterable[Mapping[str, Any]]) -> None:
    """Write each edit where the file is still what its approver saw.

    So it is written once: what a later step makes of the file is never undone by a second try.
    """
    for edit in edits:
        path = str(edit["path"])
        seen = run.revisions.get(path=path, revision=edit["shown"])
        file = _place(run.folder.resolve(), path, edit.get("of", ""))
        with open_ordinary(file) as opened:
            if opened.read(seen.size + 1) != bytes(seen.content):
                continue
        own = run.revisions.get(path=path, revision=edit["revision"])
        replace_ordinary(file, bytes(own.content))


def _place(root: Path, path: str, begins_at: str) -> Path:
    """Where an edit belongs: inside the folder, and no links on the way."""
    top = root
    if begins_at == REPOSITORY and (found := aside.find(root)):
        top = found.top.resolve()
    file = top / path
    if file.resolve() != file:
        raise NotOrdinary
    if not file.is_relative_to(root):
        raise OSError(f"{path} is outside the workspace")
    return file
