"""References of snapshots go with the runs that showed them, and no others."""

from pathlib import Path

import pytest

from runs.changes import references
from runs.changes.taking import REFS
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "app")
    made.write("app.py", "def add(*numbers):\n    return sum(numbers)\n")
    return made


def kept(repository: Repository) -> list[str]:
    return repository("for-each-ref", "--format=%(objectname)", REFS).split()


def test_the_references_of_a_removed_run_are_removed(repository: Repository) -> None:
    run = reviewed(repository)
    heads = list(run.snapshots.values_list("head", flat=True))
    assert kept(repository) == heads
    run.snapshots.all().delete()

    assert references.forget(repository.folder, heads) == heads

    assert kept(repository) == []
    assert repository("status", "--short") == "M app.py"


def test_what_another_run_shows_and_what_another_site_keeps_stays(repository: Repository) -> None:
    heads = list(reviewed(repository).snapshots.values_list("head", flat=True))
    foreign = repository.head
    repository("update-ref", f"{REFS}/{foreign}", foreign)

    assert references.forget(repository.folder, heads) == []

    assert sorted(kept(repository)) == sorted([*heads, foreign])


def test_where_there_is_no_repository_nothing_happens(tmp_path: Path) -> None:
    assert references.forget(tmp_path, ["0" * 40]) == []
