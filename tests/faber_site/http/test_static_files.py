"""Static files are named by their content and compressed, and pages are compressed too."""

import gzip
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import Client
from pytest_django.fixtures import Settings

from faber_site.http import static_files
from faber_site.http.static_files import HashedFiles


@pytest.fixture
def root(settings: Settings, tmp_path: Path) -> Path:
    own = tmp_path / "own"
    own.mkdir()
    (own / "till.css").write_text("a { color: red }\n" * 100)
    settings.STATICFILES_DIRS = [own]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "static"
    return tmp_path


def test_a_file_is_named_by_its_content_and_compressed(root: Path) -> None:
    static_files.collect()

    name = HashedFiles(location=str(root / "static")).stored_name("till.css")
    assert name != "till.css"
    kept = (root / "static" / f"{name}.gz").read_bytes()
    assert gzip.decompress(kept) == (root / "own" / "till.css").read_bytes()


def test_files_are_made_again_only_when_one_changed(root: Path) -> None:
    static_files.collect()
    mark = root / "static" / "staticfiles.json"
    first = mark.stat().st_mtime_ns
    static_files.collect()
    assert mark.stat().st_mtime_ns == first

    (root / "own" / "till.css").write_text("b { color: blue }\n")
    static_files.collect()

    name = HashedFiles(location=str(root / "static")).stored_name("till.css")
    assert (root / "static" / name).read_text() == "b { color: blue }\n"
    assert len(list((root / "static").glob("till.*.css"))) == 1


def test_where_nothing_was_collected_files_keep_their_names() -> None:
    assert staticfiles_storage.url("css/base.css") == "/static/css/base.css"


@pytest.mark.django_db
def test_pages_are_compressed_for_those_who_take_it(client: Client) -> None:
    packed = client.get("/login/", headers={"Accept-Encoding": "gzip"})
    plain = client.get("/login/")

    assert packed["Content-Encoding"] == "gzip"
    assert b"<h1" in gzip.decompress(packed.content)
    assert "Content-Encoding" not in plain
