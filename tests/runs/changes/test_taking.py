"""What changed in a repository is taken whole, and nothing of the repository is touched."""

import os
import subprocess
from pathlib import Path

import pytest

from runs.changes import taking
from runs.changes.parts import unpack
from runs.changes.values import ChangedFile, FileStatus, Taken
from runs.workspaces import aside
from runs.workspaces.aside import GitFailed
from tests.repositories import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "app")


def take(repository: Repository, base: str | None = None) -> Taken:
    return _take(repository, repository.head if base is None else base)[0]


def _take(repository: Repository, base: str) -> tuple[Taken, str]:
    found = aside.find(repository.folder)
    assert found
    return taking.take(found, base)


def patch_of(taken: Taken, file: ChangedFile) -> str:
    patch = unpack(taken.parts[file.part]).patch
    assert patch is not None
    return patch.decode()


def test_a_repository_in_which_nothing_changed_is_its_own_commit(repository: Repository) -> None:
    taken = take(repository)

    assert (taken.base, taken.head) == (repository.head, repository.head)
    assert (taken.listing.count, taken.commit_count) == (0, 0)
    assert not repository("for-each-ref", "refs/faber")


def test_what_is_committed_staged_changed_and_new_is_taken_and_what_is_ignored_is_not(
    repository: Repository,
) -> None:
    base = repository.head
    repository.write("committed.txt", "one\n")
    repository.commit("Add a file")
    repository.write("staged.txt", "two\n")
    repository("add", "staged.txt")
    repository.write("app.py", "def add(a, b):\n    return b + a\n")
    repository.write("folder/new.txt", "three\n")
    repository.write(".gitignore", "*.log\n")
    repository.write("noise.log", "much\n")
    (repository.folder / "old.txt").unlink()

    taken = take(repository, base)

    assert [(file.path, file.status.value) for file in taken.listing.files] == [
        (".gitignore", "added"),
        ("app.py", "modified"),
        ("committed.txt", "added"),
        ("folder/new.txt", "added"),
        ("old.txt", "deleted"),
        ("staged.txt", "added"),
    ]
    assert (taken.listing.count, taken.listing.additions, taken.listing.deletions) == (6, 5, 21)
    assert [commit.subject for commit in taken.commits] == ["Add a file"]


def test_a_copied_index_is_as_old_as_the_index(repository: Repository, tmp_path: Path) -> None:
    """Else git takes a file of the same size for unchanged that was written right after it."""
    index, copied = repository.folder / ".git" / "index", tmp_path / "copied"
    os.utime(index, ns=(1_000_000_007, 1_000_000_007))

    aside._copy(index, copied)

    assert copied.stat().st_mtime_ns == index.stat().st_mtime_ns


def test_what_is_not_committed_is_a_commit_on_no_branch_that_is_kept(
    repository: Repository,
) -> None:
    repository.write("app.py", "pass\n")

    taken = take(repository)
    repository("gc", "-q", "--prune=now")

    assert taken.head != repository.head
    assert repository("rev-parse", f"{taken.head}^") == repository.head
    assert repository("show", f"{taken.head}:app.py") == "pass"
    assert repository("branch", "--all", "--contains", taken.head) == ""


def test_the_same_files_are_the_same_snapshot(repository: Repository) -> None:
    repository.write("app.py", "pass\n")

    assert take(repository).head == take(repository).head


def test_index_head_and_files_stay_as_they_are(repository: Repository) -> None:
    repository.write("staged.txt", "two\n")
    repository("add", "staged.txt")
    repository.write("app.py", "pass\n")
    repository.write("new.txt", "new\n")
    index = repository.folder / ".git" / "index"
    status = repository("status", "--porcelain")  # writes what it found to the index
    before = (index.read_bytes(), index.stat().st_mtime_ns)

    take(repository)

    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert repository("status", "--porcelain") == status


def test_git_applies_the_patches_to_the_base(repository: Repository, tmp_path: Path) -> None:
    base = repository.head
    repository("mv", "old.txt", "moved é.txt")
    repository.write("app.py", "def add(a, b):\n    return a + b")
    repository.write('quoted "name".txt', "x\n")
    (repository.folder / "run.sh").write_text("#!/bin/sh\n")
    (repository.folder / "run.sh").chmod(0o755)
    (repository.folder / "link").symlink_to("app.py")
    taken = take(repository, base)

    clone = tmp_path / "clone"
    repository("clone", "-q", str(repository.folder), str(clone))
    whole = "".join(patch_of(taken, file) for file in taken.listing.files)
    subprocess.run(["git", "apply", "--index", "-"], cwd=clone, input=whole, text=True, check=True)
    tree = subprocess.run(
        ["git", "write-tree"], cwd=clone, capture_output=True, text=True, check=True
    )

    assert tree.stdout.strip() == taken.tree


def test_renames_and_changed_types_are_told(repository: Repository) -> None:
    repository("mv", "old.txt", "moved.txt")
    (repository.folder / "app.py").unlink()
    (repository.folder / "app.py").symlink_to("moved.txt")

    files = take(repository).listing.files

    assert [(file.path, file.old_path, file.status) for file in files] == [
        ("app.py", None, FileStatus.TYPE_CHANGED),
        ("moved.txt", "old.txt", FileStatus.RENAMED),
    ]


def test_a_binary_file_has_no_patch(repository: Repository) -> None:
    (repository.folder / "data.bin").write_bytes(bytes(range(256)))

    taken = take(repository)
    file = taken.listing.files[0]

    assert (file.binary, file.truncated) == (True, False)
    assert unpack(taken.parts[file.part]).patch is None
    assert not taken.listing.truncated


def test_both_sides_of_a_file_are_kept(repository: Repository) -> None:
    repository.write("app.py", "pass\n")

    taken = take(repository)
    content = unpack(taken.parts[taken.listing.files[0].part])

    assert content.old == b"def add(a, b):\n    return a + b\n"
    assert content.new == b"pass\n"


def test_a_patch_that_is_too_large_is_cut(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "LARGEST_PATCH", 1000)
    repository.write("big.txt", "x\n" * 1000)
    repository.write("small.txt", "x\n")

    taken = take(repository)

    assert [(file.path, file.truncated) for file in taken.listing.files] == [
        ("big.txt", True),
        ("small.txt", False),
    ]
    assert taken.listing.files[0].additions == 1000
    assert taken.listing.truncated


def test_files_too_large_to_compare_leave_the_others_their_patches(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("b-big.txt", "x\n" * 1000)
    repository.commit("Add what is large")
    monkeypatch.setattr(taking, "LARGEST_COMPARED", 1000)
    repository.write("a.txt", "x\n")
    repository.write("z.txt", "x\n")

    taken = take(repository, repository("rev-parse", "HEAD^"))

    files = {file.path: file for file in taken.listing.files}
    assert files["b-big.txt"].truncated
    assert "+++ b/a.txt" in patch_of(taken, files["a.txt"])
    assert "+++ b/z.txt" in patch_of(taken, files["z.txt"])


def test_a_snapshot_holds_so_much_and_no_more(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MOST_BYTES", 4000)
    monkeypatch.setattr(taking, "MOST_FILES", 3)
    for number in range(5):
        repository.write(f"{number}.bin.txt", os.urandom(2000).hex() + "\n")

    taken = take(repository)

    assert (taken.listing.count, len(taken.listing.files)) == (5, 3)
    assert taken.listing.additions == 5
    assert sum(map(len, taken.parts.values())) <= 4000
    assert [file.truncated for file in taken.listing.files] == [False, True, True]


def test_a_large_file_nobody_committed_is_named_and_left_out(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "LARGEST_COMPARED", 1000)
    repository.write("dump.sql", "x\n" * 1000)

    taken, note = _take(repository, repository.head)

    assert taken.listing.count == 0
    assert note.endswith("dump.sql.")


def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "first.txt").write_text("one\n")
    found = aside.find(folder)
    assert found

    taken, _ = taking.take(found, "")

    assert [file.path for file in taken.listing.files] == ["first.txt"]
    assert taken.commits == ()


def test_a_base_that_is_gone_is_told(repository: Repository) -> None:
    with pytest.raises(GitFailed, match="is no longer in the repository"):
        take(repository, "1" * 40)


@pytest.mark.parametrize("word", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_git_was_told_to_overlook_is_taken(repository: Repository, word: str) -> None:
    repository("update-index", word, "app.py")
    repository.write("app.py", "import os\n")

    assert [file.path for file in take(repository).listing.files] == ["app.py"]


def test_a_repository_inside_is_not_entered(repository: Repository) -> None:
    Repository(repository.folder / "inner")
    subprocess.run(["git", "init", "-q", str(repository.folder / "unborn")], check=True)
    repository.write("new.txt", "new\n")

    assert [file.path for file in take(repository).listing.files] == ["new.txt"]


def test_the_repository_s_programs_are_not_run(repository: Repository) -> None:
    mark = repository.folder.parent / "ran"
    program = repository.folder.parent / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {mark}\ncat\n")
    program.chmod(0o755)
    hooks = repository.folder / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "pre-commit", "pre-auto-gc"):
        (hooks / hook).write_text(f"#!/bin/sh\necho {hook} >> {mark}\n")
        (hooks / hook).chmod(0o755)
    repository.write("big.bin", "before\n")
    repository.commit("Before the programs")
    base = repository.head
    for setting in (
        *("core.fsmonitor", "diff.external", "core.pager", "core.editor", "gpg.program"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command"),
        *("diff.evil.textconv", "merge.evil.driver", "credential.helper", "core.sshCommand"),
        "core.askPass",
    ):
        repository("config", setting, str(program))
    repository("config", "filter.evil.required", "true")
    repository("config", "log.showSignature", "true")
    (repository.folder / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    repository.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    repository.write("app.py", "pass\n")
    repository.write("big.bin", "after\n")
    mark.unlink(missing_ok=True)

    taken = take(repository, base)

    assert [file.path for file in taken.listing.files] == [".gitattributes", "app.py", "big.bin"]
    assert not mark.exists(), mark.read_text()


def test_a_worktree_is_taken_from_its_own_index(repository: Repository, tmp_path: Path) -> None:
    repository("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "new.txt").write_text("new\n")
    found = aside.find(tmp_path / "side")
    assert found

    taken, _ = taking.take(found, repository.head)

    assert [file.path for file in taken.listing.files] == ["new.txt"]
    assert take(repository).listing.count == 0


def test_line_ends_are_read_as_the_repository_says(repository: Repository) -> None:
    repository("config", "core.autocrlf", "true")
    (repository.folder / "app.py").write_bytes(b"def add(a, b):\r\n    return a + b\r\n")

    assert take(repository).listing.count == 0
