"""Snapshots in the database: what is large is stored once, by its hash."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from runs.changes.parts import unpack
from runs.changes.values import (
    ChangedFile,
    Changes,
    Commit,
    EarlierTree,
    FileContent,
    FileStatus,
    Json,
    Listing,
    Since,
    Taken,
)
from runs.models import CodePart, CodeSnapshot, Run

_AT_ONCE = 200


def keep_parts(taken: Taken) -> None:
    """Write what is large; before the transaction that keeps the rest, which it would hold up."""
    write_parts(taken.parts)


def write_parts(parts: Mapping[str, bytes]) -> None:
    known: set[str] = set()
    for some in _portions(parts):
        stored = CodePart.objects.filter(digest__in=some)
        known.update(stored.values_list("digest", flat=True))
    missing = (
        CodePart(digest=digest, content=part, size=len(part))
        for digest, part in parts.items()
        if digest not in known
    )
    CodePart.objects.bulk_create(missing, batch_size=_AT_ONCE, ignore_conflicts=True)


def made(run: Run, place: str, taken: Taken) -> CodeSnapshot:
    """A snapshot with its parts kept; it is written with the question that shows it."""
    keep_parts(taken)
    return CodeSnapshot(
        run=run,
        place=place,
        previous_id=taken.previous,
        base=taken.base,
        head=taken.head,
        tree=taken.tree,
        files=taken.listing.count,
        additions=taken.listing.additions,
        deletions=taken.listing.deletions,
        commits=taken.commit_count,
        listing=_packed(taken),
    )


def before(run: Run, place: str) -> EarlierTree | None:
    """What people saw last at this place of the plan."""
    shown = run.snapshots.filter(place=place).order_by("-pk").values_list("pk", "tree").first()
    return EarlierTree(*shown) if shown else None


def earlier_tree(kept: CodeSnapshot) -> EarlierTree | None:
    return EarlierTree(kept.previous.pk, kept.previous.tree) if kept.previous else None


def as_taken(kept: CodeSnapshot) -> Taken:
    """The same again, for another question about code that did not change."""
    told = _read(kept)
    return Taken(
        base=kept.base,
        head=kept.head,
        tree=kept.tree,
        listing=_listing(told["base"]),
        commits=_commits(told),
        commit_count=kept.commits,
    )


def load(kept: CodeSnapshot, since: Since = Since.BASE) -> Changes:
    """In a first round there is nothing else to count from than the base."""
    told = _read(kept)
    grown = told["round"] if since is Since.ROUND else None
    return Changes(
        base=kept.base,
        head=kept.head,
        since=since,
        listing=_listing(grown or told["base"]),
        commits=_commits(told),
        commit_count=kept.commits,
    )


def content_of(file: ChangedFile) -> FileContent:
    return contents_of([file]).get(file.part, FileContent())


def contents_of(files: Iterable[ChangedFile]) -> dict[str, FileContent]:
    """What is kept of files, by their part."""
    wanted = {file.part: None for file in files if file.part}
    return {digest: unpack(part) for digest, part in parts_of(wanted)}


def parts_of(digests: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """What is large as it is stored, by its hash."""
    for some in _portions(digests):
        rows = CodePart.objects.filter(digest__in=some).values_list("digest", "content")
        yield from ((digest, bytes(content)) for digest, content in rows)


def _portions(names: Iterable[str]) -> Iterator[list[str]]:
    every = list(names)
    for start in range(0, len(every), _AT_ONCE):
        yield every[start : start + _AT_ONCE]


def _packed(taken: Taken) -> bytes:
    told = {
        "base": _shape(taken.listing),
        "round": _shape(taken.since_round) if taken.since_round else None,
        "commits": [asdict(commit) for commit in taken.commits],
    }
    return zlib.compress(json.dumps(told, ensure_ascii=False).encode(), level=1)


def _shape(listing: Listing) -> Json:
    return {**asdict(listing), "files": [_file_shape(file) for file in listing.files]}


def _file_shape(file: ChangedFile) -> list[object]:
    return [getattr(file, name) for name in _FIELDS]


_FIELDS = (
    *("path", "status", "old_path", "additions", "deletions", "binary", "truncated"),
    "part",
)


def _read(kept: CodeSnapshot) -> Mapping[str, Any]:
    told: dict[str, Any] = json.loads(zlib.decompress(bytes(kept.listing)))
    return told


def _listing(told: Mapping[str, Any]) -> Listing:
    files = (dict(zip(_FIELDS, row, strict=True)) for row in told["files"])
    return Listing(
        files=tuple(ChangedFile(**{**row, "status": FileStatus(row["status"])}) for row in files),
        count=told["count"],
        additions=told["additions"],
        deletions=told["deletions"],
    )


def _commits(told: Mapping[str, Any]) -> tuple[Commit, ...]:
    return tuple(Commit(**row) for row in told["commits"])
