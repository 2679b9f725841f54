"""What every test may ask for."""

from pathlib import Path

import pytest
from hypothesis import settings

_BROWSER = Path(__file__).parent / "browser"

pytest_plugins = ["tests.fake_agents.programs", "tests.fake_github", "tests.fake_gitlab"]

# A busy machine is slow at any moment: how long an example takes says nothing about the code.
settings.register_profile("faber", deadline=None)
settings.load_profile("faber")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse what would bring tests that empty every table before tests that need its rows.

    An argument that happens to be called like one of Playwright's fixtures does, and so does a
    group: groups are handed out first.
    """
    for item in items:
        given = getattr(item, "callspec", None)
        if given and "browser_name" in given.params and _BROWSER not in item.path.parents:
            raise pytest.UsageError(f"{item.nodeid} asks for a browser; rename its argument.")
        database, group = (item.get_closest_marker(name) for name in ("django_db", "xdist_group"))
        if group and database and database.kwargs.get("transaction"):
            raise pytest.UsageError(f"{item.nodeid} empties every table; take it out of its group.")
