"""What somebody at a terminal waits for loads only what it needs; seconds are for `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import load_command_class

from faber_site import cli, overview
from faber_site.runtime import memory
from tests.commands import CHECKOUT, environment
from tests.sites import seed

CALL = """
import sys
from faber_site.cli import main
try:
    main()
finally:
    sys.stdout.write("\\n" + " ".join(sys.modules))
"""
LOOKS = """
import atexit, gc, json, sys
loaded = []
gc.callbacks.append(lambda _when, _what: loaded.append(len(sys.modules)))
atexit.register(lambda: json.dump([loaded, len(gc.get_objects())], sys.stderr))
from faber_site.cli import main
main()
"""
FEW_MODULES, FEW_OBJECTS = 250, 2_000  # of more than eight hundred, and of a hundred thousand
# Pages and the API, markup, other sites, and what only workers do.
NEVER = {
    *("faber_site.urls", "faber_site.runtime.processes", "runs.api", "runs.pages"),
    *(
        "feedback.api",
        "feedback.inbox",
        "feedback.desk",
        "feedback.mcp",
        "runs.rendering",
        "runs.worker",
    ),
    *("ninja", "markdown", "markdown_it", "pygments", "nh3", "jsonschema", "cryptography"),
    *("github", "requests", "apprise", "allauth", "mcp", "waitress", "runs.admin"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quick")
    seed(folder / "data")
    return folder


def loaded_by(site: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CALL, *words],
        cwd=CHECKOUT,
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stdout.rpartition("\n")[2].split())


def test_the_overview_is_shown_with_nothing_but_pythons_own(site: Path) -> None:
    loaded = {name.partition(".")[0] for name in loaded_by(site, "--help")}

    assert "faber_site" in loaded
    assert not {"django", "pydantic", "runs", "feedback"} & loaded


@pytest.mark.parametrize(
    "words", [("pending",), ("status",), ("answer", "fr-20260101-000000", "approve")]
)
def test_a_command_about_requests_loads_neither_pages_nor_workers(
    site: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(site, *words)

    assert "feedback.models" in loaded
    assert NEVER & loaded == set()


def test_a_short_command_looks_for_no_garbage(site: Path) -> None:
    """Also at its end, when Python looks through all that is not kept."""
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, "pending"],
        cwd=CHECKOUT,
        env=environment(site),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "No open requests.\n"
    loaded_at_a_look, left = json.loads(done.stderr)
    assert max(loaded_at_a_look) < FEW_MODULES
    assert left < FEW_OBJECTS


@pytest.mark.parametrize("app", ["faber_site", "runs", "feedback"])
def test_the_overview_tells_of_each_command_what_it_says_of_itself(app: str) -> None:
    folder = CHECKOUT / app / "management" / "commands"
    names = [file.stem for file in folder.glob("[!_]*.py")]

    said = {name: load_command_class(app, name).help.split("\n", 1)[0] for name in names}

    assert said == {name: overview.commands()[name] for name in names}


def test_ctrl_c_while_a_command_is_loaded_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["faber", "audit"])
    monkeypatch.setattr(memory, "look_at_nothing", interrupt)

    assert cli.main() == 130
