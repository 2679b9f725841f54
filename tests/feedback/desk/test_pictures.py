"""A document's pictures at the desk: kept with the revision, and shown from it."""

import re
from pathlib import Path

import pytest
from django.test import Client

from feedback.models import FeedbackRequest
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.engine.files import pictures
from runs.engine.files.artifacts import FoundFile
from tests import factories as f

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n \0 and so on"
SPEC = "# Till\n\n![Till](img/till.png) ![Gone](gone.png) ![Link](link.png) ![Text](text.png)\n"


@pytest.fixture
def client(client: Client) -> Client:
    client.force_login(users.create("rita", role=Role.REVIEWER))
    return client


@pytest.fixture
def asked(tmp_path: Path) -> FeedbackRequest:
    docs = tmp_path / "docs"
    (docs / "img").mkdir(parents=True)
    (docs / "spec.md").write_text(SPEC)
    (docs / "img" / "till.png").write_bytes(PNG)
    (docs / "text.png").write_text("<script>alert(1)</script>")
    (tmp_path / "secret.png").write_bytes(PNG)
    (docs / "link.png").symlink_to(tmp_path / "secret.png")
    review = f.step("write", artifact="docs/spec.md", requires_approval=True)
    return f.pending(f.started(f.workflow({"architect": [review]}), tmp_path))


def page_of(client: Client, asked: FeedbackRequest) -> str:
    return client.get(f"/requests/{asked.request_id}/").content.decode()


def test_a_picture_is_shown_from_the_revision(
    client: Client, asked: FeedbackRequest, tmp_path: Path
) -> None:
    (tmp_path / "docs" / "img" / "till.png").unlink()

    (address,) = re.findall(r'<img[^>]* src="([^"]+)"', page_of(client, asked))
    response = client.get(address)

    assert response.content == PNG
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Content-Security-Policy"].endswith("sandbox")


def test_what_cannot_be_kept_is_named_in_its_place(client: Client, asked: FeedbackRequest) -> None:
    shown = page_of(client, asked)

    for name in ("gone", "link", "text"):
        assert f"Image not available: docs/{name}.png" in shown


def test_a_picture_is_decided_on_with_its_document(client: Client, asked: FeedbackRequest) -> None:
    assert sorted(asked.artifacts.values_list("path", flat=True)) == [
        "docs/img/till.png",
        "docs/spec.md",
    ]
    assert 'class="tabs"' not in page_of(client, asked)  # it is seen in the document


def test_nothing_but_a_picture_is_served_as_one(client: Client, asked: FeedbackRequest) -> None:
    run = asked.run.run_id

    assert client.get(f"/runs/{run}/pictures/1/docs/img/till.png").status_code == 200
    assert client.get(f"/runs/{run}/pictures/1/docs/spec.md").status_code == 404
    assert client.get(f"/runs/{run}/pictures/2/docs/img/till.png").status_code == 404


def test_the_page_of_the_file_shows_its_pictures_too(
    client: Client, asked: FeedbackRequest
) -> None:
    run = asked.run.run_id

    document = client.get(f"/runs/{run}/files/1/docs/spec.md").content.decode()
    picture = client.get(f"/runs/{run}/files/1/docs/img/till.png").content.decode()

    for shown in (document, picture):
        assert f'src="/runs/{run}/pictures/1/docs/img/till.png"' in shown


def test_pictures_together_are_not_larger_than_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "LARGEST_TOGETHER", len(PNG))
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(PNG)
    document = FoundFile(path="x.md", content=b"![a](a.png) ![b](b.png)")

    assert [file.path for file in pictures.beside(tmp_path, [document])] == ["a.png"]
