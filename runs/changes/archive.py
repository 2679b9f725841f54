"""Snapshots as files named by their hash, and back: how they leave a site and come to another."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from runs.changes import parts, store
from runs.changes.values import FileStatus
from runs.domain.values.errors import Problem
from runs.domain.workflow.problems import problems_of
from runs.models import CodeSnapshot, Run

_Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]


def _inside(path: str) -> str:
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError("is outside the work tree")
    return path


_Path = Annotated[str, AfterValidator(_inside)]


class _Archived(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class ArchivedCommit(_Archived):
    sha: str
    subject: str
    author: str
    at: str


class ArchivedFiles(_Archived):
    # In the order in which `store` writes the fields of a file.
    files: list[tuple[_Path, FileStatus, _Path | None, _Number, _Number, bool, bool, _Digest]]
    count: _Number
    additions: _Number
    deletions: _Number


class ArchivedListing(_Archived):
    base: ArchivedFiles
    round: ArchivedFiles | None
    commits: list[ArchivedCommit]

    @property
    def parts(self) -> Iterator[str]:
        for found in (self.base, self.round):
            yield from (file[-1] for file in (found.files if found else ()) if file[-1])


def listing_of(kept: CodeSnapshot) -> tuple[str, bytes]:
    """Every file and commit of a snapshot as one document, and the hash it is found by."""
    content = zlib.decompress(bytes(kept.listing))
    return hashlib.sha256(content).hexdigest(), content


def files_of(snapshots: Iterable[CodeSnapshot]) -> dict[str, bytes]:
    """The listings of snapshots and what is kept of each file in them, by their hash."""
    listings = dict(map(listing_of, snapshots))
    named = {name for content in listings.values() for name in parts_in(content)}
    return {**listings, **{name: zlib.decompress(part) for name, part in store.parts_of(named)}}


def parts_in(listing: bytes) -> list[str]:
    """What a listing names, each once."""
    return list(dict.fromkeys(ArchivedListing.model_validate_json(listing).parts))


def problems_of_listing(content: bytes) -> Sequence[Problem]:
    try:
        ArchivedListing.model_validate_json(content)
    except ValidationError as error:
        return problems_of(error)
    return ()


def restore(
    run: Run, snapshots: Sequence[Mapping[str, object]], contents: Mapping[str, bytes]
) -> list[CodeSnapshot]:
    """Rows of a run that was just made; each tells its columns, its listing and the one before."""
    names = {str(told["listing"]) for told in snapshots}
    store.write_parts(
        {name: parts.packed(raw) for name, raw in contents.items() if name not in names}
    )
    rows: list[CodeSnapshot] = []
    for told in snapshots:
        before = told["previous"]
        columns = {
            **told,
            "listing": parts.packed(contents[str(told["listing"])]),
            "previous": rows[before] if isinstance(before, int) else None,
        }
        rows.append(CodeSnapshot.objects.create(run=run, **columns))
    return rows
