"""Code that changed after it was shown: the answer is stale, and the request shows the new code."""

from pathlib import Path

import pytest
from pytest_django import Settings

from feedback.audit import integrity
from feedback.models import FeedbackRequest
from feedback.requests import answers
from feedback.requests.answers import respond
from runs.domain.values.actors import Source
from runs.domain.values.errors import Stale
from runs.models import Run
from tests import factories as f
from tests.repositories import Repository, reviewed

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "app")
    made.write("app.py", "shown\n")
    return made


@pytest.fixture
def run(repository: Repository) -> Run:
    return reviewed(repository)


def approve(request: FeedbackRequest, seal: str = "") -> None:
    respond(request.request_id, "approve", actor=f.person(source=Source.API), seal=seal)


def test_code_that_is_still_what_was_shown_is_approved(run: Run) -> None:
    approve(f.pending(run), seal=f.pending(run).seal)

    assert f.work(run).status == "completed"


@pytest.mark.parametrize("sealed", [True, False], ids=["with a seal", "without one"])
def test_code_that_changed_makes_an_approval_stale(
    repository: Repository, run: Run, sealed: bool
) -> None:
    shown = f.pending(run)
    repository.write("app.py", "changed\n")

    with pytest.raises(Stale) as refused:
        approve(shown, seal=shown.seal if sealed else "")

    now = f.pending(run)
    assert now.pk == shown.pk
    assert now.seal != shown.seal
    assert refused.value.details == {"seal": now.seal}
    assert now.snapshot != shown.snapshot
    assert not now.responses.exists()
    approve(now, seal=now.seal)
    assert f.work(run).status == "completed"
    assert integrity.faults() == []


def test_a_new_file_and_a_commit_count_as_well(repository: Repository, run: Run) -> None:
    repository.write("new.txt", "new\n")
    with pytest.raises(Stale):
        approve(f.pending(run))
    repository.write("another.txt", "new\n")
    repository.commit("All of it")

    with pytest.raises(Stale):
        approve(f.pending(run))


def test_the_same_code_committed_meanwhile_is_the_same_code(
    repository: Repository, run: Run
) -> None:
    repository.commit("As it was shown")

    approve(f.pending(run), seal=f.pending(run).seal)

    assert f.work(run).status == "completed"


def test_asking_for_changes_needs_no_second_look(repository: Repository, run: Run) -> None:
    seal = f.pending(run).seal
    repository.write("app.py", "changed\n")

    respond(
        f.pending(run).request_id,
        "request_changes",
        actor=f.person(source=Source.API),
        words=answers.Words(comment="Another word."),
        seal=seal,
    )

    assert f.work(run).status == "awaiting_feedback"


def test_code_that_changes_in_the_undo_time_is_asked_about_again(
    repository: Repository, run: Run, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    response = f.answer(run, "approve")
    repository.write("app.py", "changed\n")

    answers.take_effect(response.pk)

    again = f.pending(run)
    assert again.snapshot
    assert again.prompt.startswith(
        f"The code changed after it was shown: now {again.snapshot.head[:12]}. "
    )
    assert again.snapshot.previous == response.request.snapshot
    assert f.answered(run, "approve").status == "awaiting_feedback"
    assert integrity.faults() == []


def test_the_seal_covers_the_code(repository: Repository, run: Run) -> None:
    request = f.pending(run)
    repository.write("app.py", "changed\n")
    with pytest.raises(Stale):
        approve(request)
    changed = f.pending(run).seal
    repository.write("app.py", "shown\n")

    with pytest.raises(Stale):
        approve(request)

    assert f.pending(run).seal == request.seal != changed


def test_a_folder_that_is_gone_cannot_be_compared(repository: Repository, run: Run) -> None:
    repository.folder.rename(repository.folder.with_name("moved"))

    approve(f.pending(run), seal=f.pending(run).seal)

    assert not FeedbackRequest.objects.filter(run=run, status="pending").exists()
