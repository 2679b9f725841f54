"""A site is written into one file while it works, and goes on elsewhere."""

import contextlib
import json
import secrets
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.chaos.databases import new_postgres
from tests.commands import CHECKOUT, FABER, Answer, environment
from tests.sites import seed

# One worker makes what they all use once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("backup")]
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="no server was started for SQLite's tests"
)

START = """
import django; django.setup()
from tests import factories as f
from runs.accounts import users
from runs.domain.values.actors import Role
users.create("rita", role=Role.REVIEWER)
f.answered(f.started(f.five_steps(), work_id="1"), "approve", "Good.")
f.started(f.five_steps(), work_id="2")
"""
APP = '{"api_url": "https://api.github.com", "app_id": "1", "slug": "f", "url": "", "key": "pem"}'
# A writer that never rests: each run is started, answered and completed, and then counted.
WRITE = """
import django; django.setup()
from tests import factories as f
for number in range(10**6):
    f.answered(f.started(f.five_steps(), work_id=str(number)), "approve")
    print(number + 1, flush=True)
"""


class Site:
    """A data directory of its own, and the database that its settings name."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.data = folder, folder / "data"
        self._environment = {**environment(folder), **(settings or {})}

    def faber(self, *words: str) -> Answer:
        done = subprocess.run(
            [FABER, *words],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Answer(code=done.returncode, out=done.stdout, err=done.stderr)

    def process(self, script: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=CHECKOUT,
            env={**self._environment, "DJANGO_SETTINGS_MODULE": "faber_site.settings"},
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, script: str) -> None:
        process = self.process(script)
        process.communicate()
        assert process.returncode == 0

    @property
    def pending(self) -> list[str]:
        items = self.faber("pending", "--json").document["items"]
        return [item["request_id"] for item in items]


def filled(folder: Path) -> Site:
    site = Site(folder)
    seed(site.data)
    site.do(START)
    return site


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Path]:
    """A site with a completed run and one that waits for a decision, and its backup."""
    folder = tmp_path_factory.mktemp("first")
    site, file = filled(folder / "site"), folder / "kept.faber"
    (site.data / "github-app.json").write_text(APP)
    made = site.faber("backup", str(file))
    assert made.code == 0, made.err
    return site, file


def goes_on(site: Site, request: str) -> None:
    """The record is whole, and the open request is answered there."""
    assert site.faber("audit", "verify").code == 0
    assert site.pending == [request]
    answered = site.faber("answer", request, "approve")
    assert answered.code == 0, answered.err
    assert site.pending == []
    assert site.faber("audit", "verify").code == 0
    assert "restored the site from a backup" in site.faber("audit").out


def test_a_restored_site_goes_on_where_the_backup_was_made(
    kept: tuple[Site, Path], tmp_path: Path
) -> None:
    site, file = kept
    copy = Site(tmp_path / "copy")

    restored = copy.faber("restore", str(file), "--json")

    assert restored.code == 0, restored.err
    assert file.stat().st_mode & 0o777 == 0o600
    for name in ("secret_key", "audit_key", "github-app.json"):
        assert (copy.data / name).read_text() == (site.data / name).read_text()
        assert (copy.data / name).stat().st_mode & 0o777 == 0o600
    goes_on(copy, site.pending[0])
    assert site.pending, "the first site knows nothing of it"


def test_a_site_is_never_restored_over(kept: tuple[Site, Path]) -> None:
    site, file = kept
    before = (site.data / "faber.sqlite3").read_bytes()

    refused = site.faber("restore", str(file))

    assert refused.code == 7
    assert "There is a site in" in refused.err
    assert (site.data / "faber.sqlite3").read_bytes() == before


def test_no_file_is_written_over(kept: tuple[Site, Path]) -> None:
    site, file = kept
    before = file.read_bytes()

    refused = site.faber("backup", str(file))

    assert refused.code == 7
    assert "is there already" in refused.err
    assert file.read_bytes() == before


def test_a_backup_that_cannot_be_written_is_a_sentence(kept: tuple[Site, Path]) -> None:
    site, _ = kept

    refused = site.faber("backup", "/proc/nowhere/kept.faber")

    assert refused.code == 2
    assert "cannot be written: No such file or directory." in refused.err


def rewritten(file: Path, target: Path, **members: bytes) -> Path:
    """The same backup with other members."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, members.get(name, old.read(name)))
    return target


def manifest_of(file: Path) -> dict[str, object]:
    with zipfile.ZipFile(file) as archive:
        document: dict[str, object] = json.loads(archive.read("manifest.json"))
    return document


@pytest.mark.parametrize("what", ["cut", "text", "missing", "short"])
def test_an_unreadable_backup_is_a_sentence_and_makes_no_site(
    kept: tuple[Site, Path], tmp_path: Path, what: str
) -> None:
    _, file = kept
    wrong = tmp_path / "wrong.faber"
    if what == "cut":
        wrong.write_bytes(file.read_bytes()[:-2000])
    elif what == "text":
        wrong.write_text("no backup at all")
    elif what == "short":
        rewritten(file, wrong, **{"tables/faber_runs.Event.jsonl": b""})
    copy = Site(tmp_path / "copy")

    refused = copy.faber("restore", str(wrong))

    assert refused.code == 2
    assert "cannot be read" in refused.err
    assert copy.faber("status").code in (0, 6)
    assert copy.faber("restore", str(file)).code == 0, "and nothing is in the way"


def test_a_backup_of_a_newer_version_is_refused(kept: tuple[Site, Path], tmp_path: Path) -> None:
    _, file = kept
    manifest = manifest_of(file)
    manifest["migrations"] = [*manifest["migrations"], ["faber_runs", "9999_future"]]  # type: ignore[misc]
    newer = rewritten(
        file, tmp_path / "newer.faber", **{"manifest.json": json.dumps(manifest).encode()}
    )

    refused = Site(tmp_path / "copy").faber("restore", str(newer))

    assert refused.code == 2
    assert "newer version of FABER: it has the migration 9999_future" in refused.err


NEWER_COLUMNS = {
    "faber_feedback.FeedbackRequest": ("project_id", "title_key", "project_key"),
    "faber_feedback.FeedbackResponse": ("project_id",),
}


def without_columns(file: Path, table: dict[str, Any], name: str) -> bytes:
    """The rows of a table as they were before it had these columns."""
    with zipfile.ZipFile(file) as archive:
        rows = [json.loads(line) for line in archive.read(f"tables/{name}.jsonl").splitlines()]
    stay = [n for n, column in enumerate(table["columns"]) if column not in NEWER_COLUMNS[name]]
    table["columns"] = [table["columns"][n] for n in stay]
    return "\n".join(json.dumps([row[n] for n in stay]) for row in rows).encode()


def test_a_backup_of_the_version_before_is_brought_up_to_date(
    kept: tuple[Site, Path], tmp_path: Path
) -> None:
    site, file = kept
    manifest: dict[str, Any] = manifest_of(file)
    manifest["migrations"] = [
        [app, name]
        for app, name in manifest["migrations"]
        if app != "faber_feedback" or (name < "0031" and "_squashed_0031" not in name)
    ]
    rows = {
        f"tables/{name}.jsonl": without_columns(file, manifest["tables"][name], name)
        for name in NEWER_COLUMNS
    }
    told = {"manifest.json": json.dumps(manifest).encode()}
    older = rewritten(file, tmp_path / "older.faber", **told, **rows)
    copy = Site(tmp_path / "copy")

    restored = copy.faber("restore", str(older))

    assert restored.code == 0, restored.err
    goes_on(copy, site.pending[0])


def test_a_key_of_the_environment_must_be_the_one_of_the_backup(
    kept: tuple[Site, Path], tmp_path: Path
) -> None:
    _, file = kept
    other = Site(tmp_path / "copy", {"FABER_AUDIT_KEY": secrets.token_urlsafe(50)})

    refused = other.faber("restore", str(file))

    assert refused.code == 2
    assert "FABER_AUDIT_KEY is not the key that the backup was made with" in refused.err


@contextlib.contextmanager
def writing(site: Site) -> "Iterator[subprocess.Popen[str]]":
    process = site.process(WRITE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def written(process: "subprocess.Popen[str]") -> int:
    """How many runs there are now; waits for one more."""
    assert process.stdout
    return int(process.stdout.readline())


def backed_up_under_load(site: Site, copy: Site, file: Path) -> None:
    with writing(site) as writer:
        before = written(writer)
        made = site.faber("backup", str(file))
        assert made.code == 0, made.err
        assert writer.poll() is None
        written(writer)

    restored = copy.faber("restore", str(file))

    assert restored.code == 0, restored.err
    verified = copy.faber("audit", "verify")
    assert verified.code == 0, verified.out
    runs = len(copy.faber("status", "--json").document["items"])
    assert runs >= before


def test_a_backup_is_of_one_moment_while_the_site_writes(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    seed(site.data)

    backed_up_under_load(site, Site(tmp_path / "copy"), tmp_path / "kept.faber")


@pytest.mark.postgres
@on_postgresql
def test_a_site_moves_from_sqlite_to_postgresql(kept: tuple[Site, Path], tmp_path: Path) -> None:
    site, file = kept
    copy = Site(tmp_path / "copy", {"FABER_DATABASE_URL": new_postgres()})

    restored = copy.faber("restore", str(file))

    assert restored.code == 0, restored.err
    goes_on(copy, site.pending[0])
    assert not (copy.data / "faber.sqlite3").exists()
    copy.do(
        "import django; django.setup()\nfrom tests import factories as f\nf.start(f.five_steps())"
    )
    assert copy.faber("restore", str(file)).code == 7


@pytest.mark.postgres
@on_postgresql
def test_a_backup_of_postgresql_is_of_one_moment_and_fits_sqlite(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", {"FABER_DATABASE_URL": new_postgres()})
    site.data.mkdir(mode=0o700)
    site.do(
        "import django; django.setup()\nfrom runs.models import migrate\nmigrate.bring_up_to_date()"
    )

    backed_up_under_load(site, Site(tmp_path / "copy"), tmp_path / "kept.faber")
