"""The lines of either side of a changed file, by their numbers."""

from collections.abc import Mapping

from feedback.desk.code.patches import read_patch
from runs.changes import store
from runs.changes.values import ChangedFile, FileContent, Since
from runs.models import CodeSnapshot


def lines_of(kept: CodeSnapshot, path: str, side: str) -> Mapping[int, str] | None:
    """None when the file is not among the changes; what is too large is known by its patch."""
    for since in (Since.ROUND, Since.BASE):
        file = _named(store.load(kept, since).listing.files, path)
        if file:
            return _lines(store.content_of(file), side)
    return None


def _named(files: tuple[ChangedFile, ...], path: str) -> ChangedFile | None:
    return next((file for file in files if file.path == path), None)


def _lines(content: FileContent, side: str) -> Mapping[int, str]:
    whole = content.old if side == "old" else content.new
    if whole is not None:
        text = whole.decode(errors="replace").removesuffix("\n")
        return dict(enumerate(text.split("\n"), start=1))
    rows = [row for hunk in read_patch(content.patch or b"") for row in hunk.rows]
    numbered = ((row.old if side == "old" else row.new, row.text) for row in rows)
    return {number: text for number, text in numbered if number}
