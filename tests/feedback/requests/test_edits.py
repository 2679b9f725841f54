"""Approve with edits: whose file it is then, where it is written, and when it is refused."""

from pathlib import Path

import pytest
from pytest_django import Settings

from feedback.audit.integrity import faults
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import Words, respond
from feedback.requests.edits import Edit
from runs.domain.values.errors import InvalidAnswer
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.models import Run
from runs.workspaces import edited
from tests import factories as f
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db(transaction=True)

MINE = "# My list\n\n- pears\n"


@pytest.fixture
def asked(tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


def approve(asked: FeedbackRequest, *edits: Edit, response: str = "approve") -> FeedbackResponse:
    words = Words(comment="With this.", edits=edits)
    return respond(asked.request_id, response, actor=f.person(), words=words)


def told(run: Run) -> dict[str, object]:
    attempt = run.attempts.filter(step="make").latest("pk")
    assert attempt.response
    briefing = attempt.response["details"]["briefing"]
    return dict(briefing["feedback"])


def test_edits_are_the_approvers_own_revision_and_in_the_folder_before_the_next_step(
    asked: FeedbackRequest, tmp_path: Path
) -> None:
    approve(asked, Edit(path="list.md", content=MINE))
    run = f.work(asked.run)

    assert (tmp_path / "list.md").read_text() == MINE
    own = run.revisions.get(path="list.md", revision=2)
    assert (own.text, own.attempt) == (MINE, None)
    assert told(run)["edits"] == [{"path": "list.md", "revision": 2}]
    assert faults() == []


def test_edits_are_written_where_the_next_step_is_executed(
    asked: FeedbackRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.requests.answers.recognising.is_here", lambda _run: False)
    approve(asked, Edit(path="list.md", content=MINE))
    assert (tmp_path / "list.md").read_text() != MINE

    f.work(asked.run)

    assert (tmp_path / "list.md").read_text() == MINE


def test_a_later_change_of_the_file_is_never_undone(asked: FeedbackRequest, tmp_path: Path) -> None:
    approve(asked, Edit(path="list.md", content=MINE))
    (tmp_path / "list.md").write_text("a step was here\n")

    f.work(asked.run)

    assert (tmp_path / "list.md").read_text() == "a step was here\n"


def test_a_link_in_the_place_of_the_file_is_not_followed(
    asked: FeedbackRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.requests.answers.recognising.is_here", lambda _run: False)
    secret = tmp_path / "secret"
    secret.write_text((tmp_path / "list.md").read_text())
    before = secret.read_text()
    approve(asked, Edit(path="list.md", content=MINE))
    (tmp_path / "list.md").unlink()
    (tmp_path / "list.md").symlink_to(secret)

    run = f.work(asked.run)

    assert secret.read_text() == before
    assert f.pending(run).type == "error_resolution"


def test_edits_that_change_nothing_make_no_revision(asked: FeedbackRequest, tmp_path: Path) -> None:
    same = (tmp_path / "list.md").read_text()

    assert approve(asked, Edit(path="list.md", content=same)).edits == []
    assert asked.run.revisions.count() == 1


@pytest.mark.parametrize("response", ["request_changes", "reject"])
def test_edits_come_with_an_approval_only(asked: FeedbackRequest, response: str) -> None:
    with pytest.raises(InvalidAnswer, match="Edits are only possible with approve"):
        approve(asked, Edit(path="list.md", content=MINE), response=response)
    assert not FeedbackResponse.objects.exists()


@pytest.mark.parametrize("path", ["other.md", "../list.md", "/etc/passwd", ""])
def test_only_what_is_shown_can_be_edited(asked: FeedbackRequest, path: str) -> None:
    with pytest.raises(InvalidAnswer, match=r"can't be edited here. Editable files: list\.md"):
        approve(asked, Edit(path=path, content=MINE))


def test_a_file_is_edited_once(asked: FeedbackRequest) -> None:
    edit = Edit(path="list.md", content=MINE)
    with pytest.raises(InvalidAnswer, match="edited twice"):
        approve(asked, edit, edit)


def test_an_edit_on_record_cannot_be_changed_unseen(asked: FeedbackRequest) -> None:
    approve(asked, Edit(path="list.md", content=MINE))
    FeedbackResponse.objects.update(edits=[{"path": "list.md", "content": "other"}])

    assert any("was changed" in line for line in faults())


def test_edits_wait_out_the_undo_time(
    asked: FeedbackRequest, settings: Settings, tmp_path: Path
) -> None:
    settings.FABER_UNDO_SECONDS = 60
    before = (tmp_path / "list.md").read_text()
    words = Words(edits=[Edit(path="list.md", content=MINE)])
    respond(asked.request_id, "approve", actor=f.person(), words=words)

    assert (tmp_path / "list.md").read_text() == before
    assert asked.run.revisions.count() == 1


# Code changes


@pytest.fixture
def code(tmp_path: Path) -> FeedbackRequest:
    repository = Repository(tmp_path / "app")
    repository.write("src/new.py", "first = 1\r\nsecond = 2\r\n")
    repository.write("picture.bin", "\0")
    return f.pending(reviewed(repository))


def test_a_changed_file_can_be_edited_and_both_versions_are_kept(
    code: FeedbackRequest, tmp_path: Path
) -> None:
    approve(code, Edit(path="src/new.py", content="first = 1\n"))

    assert (tmp_path / "app/src/new.py").read_bytes() == b"first = 1\n"
    kept = code.run.revisions.filter(path="src/new.py").order_by("revision")
    assert [bytes(each.content) for each in kept] == [
        b"first = 1\r\nsecond = 2\r\n",
        b"first = 1\n",
    ]
    attempt = code.run.attempts.latest("pk")
    assert attempt.feedback
    assert attempt.feedback["edits"][0]["revision"] == 2


def test_a_changed_file_that_is_no_text_or_not_changed_cannot_be_edited(
    code: FeedbackRequest,
) -> None:
    for path in ("picture.bin", "app.py", "../app.py"):
        with pytest.raises(InvalidAnswer, match="Editable files: the changed files"):
            approve(code, Edit(path=path, content="x"))


def test_code_below_the_top_of_its_repository_is_edited_in_its_place(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "app")
    repository.write("service/inner.py", "first = 1\n")
    repository.write("outside.py", "first = 1\n")
    run = f.started(f.five_steps(), repository.folder / "service")
    kept = [
        FoundFile(path=path, content=b"first = 1\n") for path in ("service/inner.py", "outside.py")
    ]
    assert run.unit
    artifacts.keep_changed(run, run.unit, kept)
    own = [FoundFile(path=file.path, content=b"second = 2\n") for file in kept]
    artifacts.keep_changed(run, run.unit, own)
    told = [{"path": each.path, "shown": 1, "revision": 2, "of": edited.REPOSITORY} for each in own]

    with pytest.raises(OSError, match=r"outside\.py is outside the workspace"):
        edited.write(run, told)

    assert (repository.folder / "service/inner.py").read_text() == "second = 2\n"
    assert (repository.folder / "outside.py").read_text() == "first = 1\n"
