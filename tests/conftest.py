"""What every test may ask for."""

import os
import random
from functools import partial
from pathlib import Path

import pytest
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import settings

from tests import emptying

_BROWSER = Path(__file__).parent / "browser"

pytest_plugins = ["tests.fake_agents.programs", "tests.fake_github", "tests.fake_gitlab"]

# A busy machine is slow at any moment: how long an example takes says nothing about the code.
settings.register_profile("faber", deadline=None)
settings.load_profile("faber")

TransactionTestCase._fixture_teardown = emptying.empty_tables  # type: ignore[attr-defined]
if connection.vendor == "postgresql":
    type(connection.creation)._destroy_test_db = emptying.drop_database  # type: ignore[attr-defined]

# A fork would draw what its parent draws, and both would make the same run.
os.register_at_fork(after_in_child=partial(setattr, os, "urandom", os.urandom))


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


@pytest.fixture(autouse=True)
def _ids_are_drawn_alike(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same ids each time: by chance one could hold what the test looks for."""
    monkeypatch.setattr(os, "urandom", random.Random(request.node.nodeid).randbytes)  # noqa: S311
