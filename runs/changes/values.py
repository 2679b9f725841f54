"""A snapshot of what a run changed, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

Json = dict[str, object]


class FileStatus(StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    TYPE_CHANGED = "type_changed"

    @property
    def label(self) -> str:
        return self.value.replace("_", " ")


class Since(StrEnum):
    """What the changes are counted from."""

    BASE = "base"  # where the run began
    ROUND = "round"  # what was shown in the round before


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file that is not what it was; its patch and contents are found by `part`."""

    path: str
    status: FileStatus
    old_path: str | None = None  # where that is another
    additions: int = 0
    deletions: int = 0
    binary: bool = False
    truncated: bool = False  # too large to be kept
    part: str = ""

    @property
    def changed_lines(self) -> int:
        return self.additions + self.deletions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """What is kept of a changed file: None is what there is not, or is too large."""

    patch: bytes | None = None
    old: bytes | None = None
    new: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    sha: str
    subject: str
    author: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files that changed since something, with how much there is in all."""

    files: tuple[ChangedFile, ...] = ()
    count: int = 0
    additions: int = 0
    deletions: int = 0

    @property
    def truncated(self) -> bool:
        return self.count > len(self.files) or any(file.truncated for file in self.files)


class EarlierTree(NamedTuple):
    """What the round before showed: its snapshot's key and its tree."""

    snapshot: int
    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A snapshot that is not in the database yet."""

    base: str
    head: str
    tree: str
    listing: Listing
    commits: tuple[Commit, ...] = ()
    commit_count: int = 0
    since_round: Listing | None = None  # None in a first round
    previous: int | None = None  # the snapshot that round showed
    parts: Mapping[str, bytes] = field(default_factory=dict)  # compressed, by their hash

    @property
    def in_first_round(self) -> "Taken":
        return replace(self, since_round=None, previous=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came of a look at a run's repository: a snapshot, or why there is none."""

    place: str  # where in its plan the run asks; rounds are counted by it
    taken: Taken | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A kept snapshot as people and programs read it."""

    base: str
    head: str
    since: Since
    listing: Listing
    commits: Sequence[Commit]
    commit_count: int
