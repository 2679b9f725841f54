"""Keeps the pictures that documents show from their own folder, as they were then."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from runs.engine.files.artifacts import FoundFile, read_file
from runs.rendering import pictures

MOST = 40
LARGEST_TOGETHER = 20 * 1024 * 1024
_MARKDOWN = frozenset({"", ".md", ".markdown"})


def beside(workspace: Path, documents: Sequence[FoundFile]) -> tuple[FoundFile, ...]:
    """Those that can be kept; what is missing, too large, a link or no picture is left out."""
    root = workspace.resolve()
    known = {document.path for document in documents}
    named = [path for document in documents for path in _named_in(document) if path not in known]
    found: list[FoundFile] = []
    room = LARGEST_TOGETHER
    for path in list(dict.fromkeys(named))[:MOST]:
        file = _read(root, path)
        size = len(file.content or b"")
        if file.content and size <= room and pictures.kind_of(file.content):
            found.append(file)
            room -= size
    return tuple(found)


def _named_in(document: FoundFile) -> list[str]:
    if document.content is None or PurePosixPath(document.path).suffix.lower() not in _MARKDOWN:
        return []
    return pictures.named_in(document.path, document.content.decode(errors="replace"))


def _read(root: Path, path: str) -> FoundFile:
    file = root / path
    try:
        is_itself = file.resolve() == file  # a link could lead anywhere
    except (OSError, RuntimeError):
        is_itself = False
    return read_file(file, path) if is_itself else FoundFile(path=path, content=None)
