"""Takes what changed in a repository, committed or not; nothing of the user's is touched."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runs.changes import git_output
from runs.changes.git_output import RawChange
from runs.changes.parts import pack
from runs.changes.values import ChangedFile, Commit, EarlierTree, FileContent, Listing, Taken
from runs.workspaces.aside import Aside, GitFailed, Repository, beside
from runs.workspaces.git import ask_git

SECONDS = 60
MOST_FILES = 20_000
LARGEST_PATCH = 1024**2
LARGEST_CONTENT = 1024**2
MOST_BYTES = 64 * 1024**2  # of patches and contents in one snapshot
# More than this of one file is not even compared, nor read when it is not committed.
LARGEST_COMPARED = 32 * 1024**2
MOST_COMMITS = 500
_NAMED = 3  # files that a sentence names

REFS = "refs/faber/snapshots"
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "FABER"), ("EMAIL", "faber@localhost"))
}
_DETECTING = ("-r", "-M", "-C", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color")
_OTHER_REPOSITORY = "160000"
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """A work tree as it is now, as objects of its repository."""

    tree: str
    head: str  # the commit that is checked out; nothing before the first
    is_clean: bool
    left_out: tuple[str, ...] = ()  # files that could not be read, or are too large


def tree_of(repository: Repository) -> str:
    """The name of everything that is there now: equal names are equal files."""
    with beside(repository, seconds=SECONDS) as git:
        return _state(git).tree


def take(
    repository: Repository, base: str, *, since: EarlierTree | None = None
) -> tuple[Taken, str]:
    """What changed since a commit, and a sentence about what of it could not be taken."""
    with beside(repository, seconds=SECONDS) as git:
        state = _state(git)
        base = base or _empty_tree(git)
        if not _kind(git, base):
            raise GitFailed(f"the commit {base[:12]} is no longer in the repository")
        keeper = _Keeper(git)
        listing = keeper.listing(base, state.tree)
        grown = None
        if since and _kind(git, since.tree):
            grown = keeper.listing(since.tree, state.tree)
        taken = Taken(
            base=base,
            head=state.head if state.is_clean and state.head else _commit(git, state),
            tree=state.tree,
            listing=listing,
            commits=_commits(git, base, state),
            commit_count=_commit_count(git, base, state),
            since_round=grown,
            previous=since.snapshot if since and grown else None,
            parts=keeper.parts,
        )
    return taken, _told(state.left_out)


# The work tree, read into an index of our own


def _state(git: Aside) -> WorkTree:
    left_out = _read_work_tree(git)
    tree = git.text("write-tree")
    told = ask_git(git.repository.top, "rev-parse", "HEAD", "HEAD^{tree}")
    head, committed = told.text.splitlines() if told.ok else ("", "")
    return WorkTree(tree=tree, head=head, is_clean=tree == committed, left_out=left_out)


def _read_work_tree(git: Aside) -> tuple[str, ...]:
    """Bring the copied index to what the files are now; returns what was left out."""
    nested = _prepare_index(git)
    listed = git("ls-files", "-z", "--others", "--modified", "--exclude-standard").split(b"\0")
    changed = [
        path
        for path in dict.fromkeys(listed)
        # Another repository inside this one is told by its folder, or by its commit.
        if path and not path.endswith(b"/") and path not in nested
    ]
    top = git.repository.top
    left_out = {path for path in changed if not _is_readable(top / os.fsdecode(path))}
    wanted = b"".join(path + b"\0" for path in changed if path not in left_out)
    if wanted:
        git("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=wanted)
    return tuple(os.fsdecode(path) for path in sorted(left_out))


def _prepare_index(git: Aside) -> set[bytes]:
    """Look at every file, also where somebody told git not to; returns the nested repositories."""
    nested, hidden = set(), []
    top = git.repository.top
    for line in git("ls-files", "-v", "-s", "-z").split(b"\0"):
        if not line:
            continue
        facts, _, path = line.partition(b"\t")
        mark, mode, *_ = facts.decode().split(" ")
        if mode == _OTHER_REPOSITORY:
            nested.add(path)
        elif mark.islower() or (mark == "S" and os.path.lexists(top / os.fsdecode(path))):
            hidden.append(path)
    if hidden:
        names = b"".join(path + b"\0" for path in hidden)
        for word in ("--no-assume-unchanged", "--no-skip-worktree"):
            git("update-index", "-z", word, "--stdin", given=names)
    return nested


def _is_readable(file: Path) -> bool:
    try:
        found = file.lstat()
    except OSError:
        return True  # it is gone, which is a change as well
    if stat.S_ISLNK(found.st_mode):
        return True
    is_file = stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_COMPARED
    return is_file and os.access(file, os.R_OK)


def _told(left_out: Sequence[str]) -> str:
    if not left_out:
        return ""
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    names = ", ".join(left_out[:_NAMED]) + more
    most = f"{LARGEST_COMPARED // 1024**2} MB"
    return f"Omitted from the code changes (unreadable or larger than {most}): {names}."


# Commits


def _empty_tree(git: Aside) -> str:
    return git("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()


def _commit(git: Aside, state: WorkTree) -> str:
    """A commit on no branch; a reference of its own keeps it from being collected."""
    parent = ("-p", state.head) if state.head else ()
    # The same files on the same commit are the same snapshot, whenever it is taken.
    when = git.text("log", "-1", "--format=@%ct +0000", state.head) if state.head else "@1 +0000"
    dated = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    words = ("commit-tree", state.tree, *parent, "-m", "What was not committed")
    made = git(*words, environment={**_WHO, **dated}).decode().strip()
    kept = ask_git(git.repository.top, "update-ref", f"{REFS}/{made}", made)
    if not kept.ok:
        raise GitFailed(f"could not save the snapshot: {kept.text[:300]}")
    return made


def _commits(git: Aside, base: str, state: WorkTree) -> tuple[Commit, ...]:
    if not state.head:
        return ()
    form, most = f"--format={git_output.COMMIT_FORM}", f"--max-count={MOST_COMMITS}"
    words = ("log", "-z", form, most, "--no-show-signature", "--no-color")
    return git_output.read_commits(git(*words, *_between(git, base, state.head), "--"))


def _commit_count(git: Aside, base: str, state: WorkTree) -> int:
    if not state.head:
        return 0
    return int(git.text("rev-list", "--count", *_between(git, base, state.head), "--"))


def _between(git: Aside, base: str, head: str) -> tuple[str, ...]:
    return (head, f"^{base}") if _kind(git, base) == "commit" else (head,)


def _kind(git: Aside, name: str) -> str:
    """What an object is; nothing when it is not there any more."""
    try:
        return git.text("cat-file", "-t", name)
    except GitFailed:
        return ""


# The differences, and what is kept of them


class _Keeper:
    """Collects parts until they are as much as one snapshot may hold."""

    def __init__(self, git: Aside) -> None:
        self.parts: dict[str, bytes] = {}
        self._git = git
        self._left = MOST_BYTES

    def listing(self, old: str, new: str) -> Listing:
        found = self._differing(old, new)
        kept = found[:MOST_FILES]
        sizes = self._sizes(kept)
        patches = self._patches(old, new, kept, sizes)
        contents = self._contents(kept, sizes)
        files = [self._keep(change, patches.get(change.file.path), contents) for change in kept]
        return Listing(
            files=tuple(files),
            count=len(found),
            additions=sum(change.file.additions for change in found),
            deletions=sum(change.file.deletions for change in found),
        )

    def _differing(self, old: str, new: str, *paths: str) -> list[RawChange]:
        words = ("diff-tree", "-z", "--raw", "--numstat", *_DETECTING, old, new)
        return git_output.read_changes(self._git(*words, "--", *paths))

    def _sizes(self, changes: Sequence[RawChange]) -> Mapping[str, int]:
        names = {name for change in changes for name in (change.old_blob, change.new_blob) if name}
        told = self._git(
            "cat-file", "--batch-check=%(objectname) %(objectsize)", given=_lines(names)
        )
        pairs = (line.split() for line in told.decode().splitlines())
        # What is missing, as in a clone that fetches later, is told without its size.
        return {name: int(size) for name, size in pairs if size.isdecimal()}

    def _patches(
        self, old: str, new: str, changes: Sequence[RawChange], sizes: Mapping[str, int]
    ) -> dict[str, bytes]:
        large = [c.file for c in changes if _weight(c, sizes) > LARGEST_COMPARED]
        paths: list[str] = []
        files = [change.file for change in changes]
        if large:
            names = {name for file in large for name in (file.path, file.old_path) if name}
            paths = [".", *(f":(exclude,literal){name}" for name in sorted(names))]
            files = [change.file for change in self._differing(old, new, *paths)]
        printed = self._git("diff-tree", "-p", "--full-index", *_DETECTING, old, new, "--", *paths)
        patches = git_output.split_patches(printed, files)
        return {file.path: patch for file, patch in zip(files, patches, strict=True)}

    def _contents(self, changes: Sequence[RawChange], sizes: Mapping[str, int]) -> dict[str, bytes]:
        """Both sides of files that a reviewer may want to see more of than their patch."""
        wanted: dict[str, None] = {}
        room = self._left // 2
        for change in changes:
            if change.file.binary and not change.file.path.lower().endswith(_IMAGES):
                continue
            for name in filter(None, (change.old_blob, change.new_blob)):
                size = sizes.get(name, LARGEST_CONTENT + 1)
                if name not in wanted and size <= min(LARGEST_CONTENT, room):
                    wanted[name], room = None, room - size
        return dict(_objects(self._git("cat-file", "--batch", given=_lines(wanted))))

    def _keep(
        self, change: RawChange, patch: bytes | None, contents: Mapping[str, bytes]
    ) -> ChangedFile:
        file = change.file
        is_kept = patch is not None and not file.binary and len(patch) <= LARGEST_PATCH
        content = FileContent(
            patch=patch if is_kept else None,
            old=contents.get(change.old_blob),
            new=contents.get(change.new_blob),
        )
        digest, part = pack(content)
        if digest not in self.parts and len(part) > self._left:
            is_kept, digest = False, ""
        elif digest not in self.parts:
            self.parts[digest] = part
            self._left -= len(part)
        return replace(file, part=digest, truncated=not is_kept and not file.binary)


def _weight(change: RawChange, sizes: Mapping[str, int]) -> int:
    return sum(sizes.get(name, 0) for name in (change.old_blob, change.new_blob))


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _objects(printed: bytes) -> Iterable[tuple[str, bytes]]:
    """What `cat-file --batch` prints: a line with name, type and size, then the content."""
    at = 0
    while at < len(printed):
        end = printed.index(b"\n", at)
        name, *rest = printed[at:end].decode().split()
        at = end + 1
        if len(rest) == 2:
            size = int(rest[1])
            yield name, printed[at : at + size]
            at += size + 1
