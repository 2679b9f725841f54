"""Reads what git prints about differences; nothing here asks git or the database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runs.changes.values import ChangedFile, Commit, FileStatus

COMMIT_FORM = "%H%x1f%an%x1f%aI%x1f%s"

_STATUS = {
    "A": FileStatus.ADDED,
    "M": FileStatus.MODIFIED,
    "D": FileStatus.DELETED,
    "R": FileStatus.RENAMED,
    "C": FileStatus.COPIED,
    "T": FileStatus.TYPE_CHANGED,
}
_BEGIN = b"diff --git "
_NO_BLOB = "160000"  # the mode of another repository inside this one


@dataclass(frozen=True, slots=True, kw_only=True)
class RawChange:
    """A changed file with the objects of both sides; a side that is not there has none."""

    file: ChangedFile
    old_blob: str = ""
    new_blob: str = ""


def read_changes(printed: bytes) -> list[RawChange]:
    """The files of `diff-tree -z --raw --numstat`, in its order."""
    words = iter(printed.decode(errors="replace").split("\0"))
    raw: list[RawChange] = []
    counted: list[tuple[str, str]] = []
    for word in words:
        if word.startswith(":"):
            raw.append(_raw(word, words))
        elif word:
            added, deleted, path = word.split("\t", 2)
            if not path:  # of a rename both paths follow
                next(words), next(words)
            counted.append((added, deleted))
    return [_with_counts(change, *counts) for change, counts in zip(raw, counted, strict=True)]


def _raw(head: str, words: Iterator[str]) -> RawChange:
    old_mode, new_mode, old_blob, new_blob, letter = head[1:].split(" ")
    status = _STATUS[letter[0]]
    first = next(words)
    has_two = status in (FileStatus.RENAMED, FileStatus.COPIED)
    return RawChange(
        file=ChangedFile(
            path=next(words) if has_two else first,
            old_path=first if has_two else None,
            status=status,
        ),
        old_blob=_blob(old_mode, old_blob),
        new_blob=_blob(new_mode, new_blob),
    )


def _blob(mode: str, name: str) -> str:
    return "" if mode == _NO_BLOB or not name.strip("0") else name


def _with_counts(change: RawChange, added: str, deleted: str) -> RawChange:
    if added == "-":
        return replace(change, file=replace(change.file, binary=True))
    counted = replace(change.file, additions=int(added), deletions=int(deleted))
    return replace(change, file=counted)


def split_patches(printed: bytes, files: Sequence[ChangedFile]) -> list[bytes]:
    """The patch of each file; one whose type changed is taken away and made anew."""
    sections = iter(_sections(printed))
    return [b"".join(next(sections) for _ in range(_section_count(file))) for file in files]


def _section_count(file: ChangedFile) -> int:
    return 2 if file.status is FileStatus.TYPE_CHANGED else 1


def _sections(printed: bytes) -> list[bytes]:
    """Lines of a file begin with a mark of their own, so nothing in one looks like a beginning."""
    starts = [0] if printed.startswith(_BEGIN) else []
    at = printed.find(b"\n" + _BEGIN)
    while at >= 0:
        starts.append(at + 1)
        at = printed.find(b"\n" + _BEGIN, at + 1)
    return [printed[start:end] for start, end in pairwise([*starts, len(printed)])]


def read_commits(printed: bytes) -> tuple[Commit, ...]:
    """The commits of `log -z` in COMMIT_FORM."""
    lines = printed.decode(errors="replace").split("\0")
    return tuple(
        Commit(sha=sha, subject=subject, author=author, at=at)
        for sha, author, at, subject in (line.split("\x1f", 3) for line in lines if line)
    )
