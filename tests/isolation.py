"""What tests of isolated steps share: the ways that work on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.isolation import ways

WAYS = {way.__name__: way for way in ways.WAYS}


@pytest.fixture(params=list(WAYS))
def isolating(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each way alone; a machine without it says so instead of passing."""
    forget()
    monkeypatch.setattr(ways, "WAYS", (WAYS[request.param],))
    if why := ways.why_not((Path("/var/empty"),) if Path("/var/empty").is_dir() else ()):
        pytest.skip(f"steps cannot be isolated here: {why}")
    yield request.param
    forget()


def need_isolation() -> None:
    if why := ways.why_not(()):
        pytest.skip(f"steps cannot be isolated here: {why}")


def forget() -> None:
    """Look again at what works: a test has changed what there is to find."""
    ways._looked.cache_clear()
    ways._found.cache_clear()
