"""A GitHub of our own: it keeps state, signs webhooks and fails when it is told to.

def test_…(github: FakeGitHub) -> None:
    issue = github.add_issue("acme/shop", author="rita")
    github.grant("acme/shop", "rita", "write")
    github.fail(bad_gateway(after_storing=True), method="POST", path="/comments")
"""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from tests.fake_github.faults import (
    Fault,
    bad_gateway,
    drop,
    not_found,
    primary_limit,
    secondary_limit,
    slow,
    unauthorized,
)
from tests.fake_github.server import Call, FakeGitHub
from tests.fake_github.state import SECRET, TOKEN, StoredComment, StoredEvent, StoredIssue
from tests.fake_github.webhooks import Delivery

__all__ = [
    "SECRET",
    "TOKEN",
    "Call",
    "Delivery",
    "FakeGitHub",
    "Fault",
    "StoredComment",
    "StoredEvent",
    "StoredIssue",
    "bad_gateway",
    "drop",
    "not_found",
    "point",
    "primary_limit",
    "secondary_limit",
    "slow",
    "unauthorized",
]


@pytest.fixture
def github(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A running GitHub that the settings point to, with a token."""
    monkeypatch.setattr("runs.github.transport.PAUSE", 0)
    monkeypatch.setattr("runs.github.transport.PAUSE_BETWEEN_WRITES", 0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeGitHub() as running:
        point(settings, running)
        yield running


def point(settings: Settings, github: FakeGitHub) -> None:
    """Make the site use that GitHub; again after it got an App."""
    for name, value in github.settings().items():
        setattr(settings, name, value)
