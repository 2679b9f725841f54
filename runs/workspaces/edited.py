"""Puts the files that an approver edited into the folder of their run."""

from collections.abc import Iterable, Mapping
from typing import Any

from runs.models import Run
from runs.workspaces.files import NotOrdinary, open_ordinary, replace_ordinary


def write(run: Run, edits: Iterable[Mapping[str, Any]]) -> None:
    """Write each edit where the file is still what its approver saw.

    So it is written once: what a later step makes of the file is never undone by a second try.
    """
    root = run.folder.resolve()
    for edit in edits:
        path = str(edit["path"])
        seen = run.revisions.get(path=path, revision=edit["shown"])
        file = root / path
        if file.resolve() != file:
            raise NotOrdinary
        with open_ordinary(file) as opened:
            if opened.read(seen.size + 1) != bytes(seen.content):
                continue
        own = run.revisions.get(path=path, revision=edit["revision"])
        replace_ordinary(file, bytes(own.content))
