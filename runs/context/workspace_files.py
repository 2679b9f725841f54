"""Reads the specification and the documents of a run from its workspace."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.context import specs
from runs.context.gathering import Json, SourceRead, note, nothing
from runs.domain.values.text import visible, without_comments
from runs.workspaces.files import open_ordinary

SECONDS = 1.0
LARGEST = 1024 * 1024
_CHUNK = 1024 * 1024

Conceal = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str  # inside the workspace
    text: str
    size: int
    sha256: str
    left_out: tuple[Json, ...]


class _NotThere(Exception):
    pass


def spec(root: Path, named: str, conceal: Conceal) -> SourceRead:
    """The specification with its outline; one that is there and cannot be read is an error."""
    try:
        file = _read("spec", root, named, conceal)
    except _NotThere as error:
        return nothing("spec", "missing", "warning", str(error))
    except OSError as error:
        why = f"The specification {named} can't be read: {_said(error)}."
        return nothing("spec", "error", "error", why)
    value = {"path": file.path, "content": file.text, **specs.outline(file.text)}
    return SourceRead(value=value, size=file.size, sha256=file.sha256, left_out=file.left_out)


def documents(root: Path, names: Sequence[str], conceal: Conceal) -> SourceRead:
    """The documents that older files' hooks add to the context."""
    read: list[_File] = []
    notes: list[Json] = []
    for named in names:
        try:
            read.append(_read("documents", root, named, conceal))
        except _NotThere as error:
            notes.append(note("documents", "warning", str(error)))
        except OSError as error:
            notes.append(note("documents", "warning", f"{named}: {_said(error)}."))
    return SourceRead(
        value=[{"path": file.path, "content": file.text} for file in read],
        notes=tuple(notes),
        left_out=tuple(told for file in read for told in file.left_out),
    )


def _read(source: str, root: Path, named: str, conceal: Conceal) -> _File:
    file = _place(root, named)
    content, size, sha256 = _content(file)
    told: list[Json] = []
    if size > LARGEST:
        told.append(_left_out(source, f"the end of {named}", size - LARGEST, "it is over 1 MB"))
    raw = content.decode("utf-8", errors="replace")
    seen = without_comments(visible(raw))
    # Line ends are made alike without a word; what a reader cannot see is told.
    if hidden := len(raw.replace("\r\n", "\n").encode()) - len(seen.encode()):
        what = f"hidden characters and HTML comments in {named}"
        told.append(_left_out(source, what, hidden, "readers can't see them"))
    path = str(file.relative_to(root.resolve()))
    return _File(path=path, text=conceal(seen), size=size, sha256=sha256, left_out=tuple(told))


def _place(root: Path, named: str) -> Path:
    absent = _NotThere(f"There is no file {named} in the workspace.")
    try:
        place = root.resolve()
        file = (place / named).resolve()
        # A path that begins at the workspace, as a response may write it.
        if not file.is_relative_to(place) and named.startswith("/"):
            file = (place / named.lstrip("/")).resolve()
        if not file.is_relative_to(place):
            raise _NotThere(f"{named} is outside the workspace and was not read.")
        if not os.path.lexists(file):
            raise absent
    except ValueError:  # no path at all, such as one with a NUL
        raise absent from None
    return file


def _content(file: Path) -> tuple[bytes, int, str]:
    """The first megabyte, the size and the hash of the whole."""
    with open_ordinary(file) as opened:
        content = opened.read(LARGEST)
        size, digest = len(content), hashlib.sha256(content)
        while chunk := opened.read(_CHUNK):
            size += len(chunk)
            digest.update(chunk)
    return content, size, digest.hexdigest()


def _left_out(source: str, what: str, size: int, why: str) -> Json:
    return {"source": source, "what": what, "bytes": size, "why": why}


def _said(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
