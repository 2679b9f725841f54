"""The house rules that no linter knows: rooms, their sentences, their map, names used once."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APPS = ("faber_site", "runs", "feedback")
NAMED_BY_DJANGO = ("Meta", "Command", "DatabaseWrapper")
BENCH = ROOT / "bench"
MOST_MODULES = 15
# Filled by convention: one file for each command, migration or set of tags.
BY_CONVENTION = ("commands", "migrations")


def packages() -> Iterator[Path]:
    for app in APPS:
        for init in sorted((ROOT / app).rglob("__init__.py")):
            if init.parent.name not in BY_CONVENTION:
                yield init.parent


def modules(app: str) -> Iterator[Path]:
    return (path for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)


def name_of(package: Path) -> str:
    return str(package.relative_to(ROOT))


@pytest.mark.parametrize(
    "package",
    [*packages(), BENCH, *(each.parent for each in BENCH.glob("*/__init__.py"))],
    ids=name_of,
)
def test_a_room_is_small_and_says_what_belongs_there(package: Path) -> None:
    held = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    sentence = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))

    assert len(held) <= MOST_MODULES
    assert sentence
    assert sentence.endswith(".")


def test_the_map_in_the_docs_is_the_tree() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = page.split("## Rooms")[1].split("```")[1].removeprefix("text")
    shown, app = set(), ""
    for line in drawn.strip().splitlines():
        if room := re.match(r"( {2})?([\w/]+)(?:  |$)", line):
            app = app if room[1] else room[2]
            shown.add(f"{app}/{room[2]}" if room[1] else app)

    assert shown == {name_of(package) for package in packages()}


def test_no_class_name_is_used_for_two_things() -> None:
    homes = defaultdict(list)
    for app in APPS:
        for path in modules(app):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and node.name not in NAMED_BY_DJANGO:
                    homes[node.name].append(name_of(path))

    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_every_test_stands_where_what_it_tests_stands() -> None:
    rooms = {name_of(package) for package in packages()}
    strangers = [
        str(path.relative_to(ROOT))
        for app in APPS
        for path in (ROOT / "tests" / app).rglob("test_*.py")
        if str(path.parent.relative_to(ROOT / "tests")) not in rooms
    ]

    assert strangers == []
