"""What an installation consists of: a small core, and extras for those who want them."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import files, requires
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from tests.commands import CHECKOUT, environment

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
OPTIONAL = ("psycopg", "mcp", "mcp_types", "allauth", "apprise", "celery", "kombu", "redis")
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r})); "


def needed(wanted: list[str]) -> set[str]:
    """The names of all packages that these bring."""
    here = {key: str(value) for key, value in default_environment().items()}
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(each) for each in wanted]
    while waiting:
        one = waiting.pop()
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        found.add(name)
        for extra in {"", *one.extras} - {known for named, known in seen if named == name}:
            seen.add((name, extra))
            for line in requires(name) or []:
                follows = Requirement(line)
                if follows.marker is None or follows.marker.evaluate({**here, "extra": extra}):
                    waiting.append(follows)
    return found


def test_the_core_is_small() -> None:
    core = needed(PROJECT["dependencies"])

    assert len(core) <= 40, sorted(core)
    assert not core & {"psycopg", "mcp", "django-allauth", "apprise", "celery", "hatchling"}


def test_the_core_takes_little_room() -> None:
    """The files that are installed, without the bytecode that Python makes of them."""
    brought = [file for name in needed(PROJECT["dependencies"]) for file in files(name) or ()]
    theirs = (Path(str(file.locate())) for file in brought if file.suffix != ".pyc")
    folders = ("faber_site", "runs", "feedback", "templates", "static", "docs")
    ours = (file for folder in folders for file in (CHECKOUT / folder).rglob("*[!c]"))

    size = sum(file.stat().st_size for file in (*theirs, *ours) if file.is_file())

    assert size < 90_000_000


@pytest.mark.parametrize("extra", ["postgres", "mcp", "login", "notify", "celery"])
def test_an_extra_brings_more(extra: str) -> None:
    assert needed(PROJECT["optional-dependencies"][extra]) - needed(PROJECT["dependencies"])


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_an_extra_is_documented(extra: str) -> None:
    described = (CHECKOUT / "docs" / "operating.md").read_text().partition("## Extras")[2]

    assert f"`{extra}`" in described.partition("\n## ")[0]


def python(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        cwd=folder,
        env=environment(folder) | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_the_core_alone_serves_pages_and_commands(tmp_path: Path) -> None:
    done = python(
        tmp_path,
        "sys.argv = ['faber', 'migrate', '-v', '0'];"
        "from faber_site.cli import main; main();"
        "from django.test import Client; site = Client(SERVER_NAME='localhost');"
        "print(site.get('/login/').status_code)",
    )

    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        (
            "FABER_DATABASE_URL",
            "postgres://db/faber",
            "PostgreSQL needs psycopg, which is not installed. Install faber-review[postgres].",
        ),
        (
            "FABER_GITHUB_CLIENT_ID",
            "Iv1.1",
            "FABER_GITHUB_CLIENT_ID needs allauth, which is not installed."
            " Install faber-review[login].",
        ),
        (
            "FABER_QUEUE",
            "celery",
            "FABER_QUEUE=celery needs celery, which is not installed."
            " Install faber-review[celery].",
        ),
        (
            "FABER_NOTIFY_URLS",
            "json://example.org",
            "FABER_NOTIFY_URLS needs apprise, which is not installed."
            " Install faber-review[notify].",
        ),
    ],
)
def test_whoever_asks_for_more_hears_what_to_install(
    tmp_path: Path, variable: str, value: str, sentence: str
) -> None:
    told = python(
        tmp_path,
        "sys.argv = ['faber', 'pending'];from faber_site.cli import main; sys.exit(main())",
        FABER_CELERY_BROKER_URL="redis://broker/0",
        **{variable: value},
    )

    assert (told.returncode, told.stderr) == (2, f"{sentence}\n")
