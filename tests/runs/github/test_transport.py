"""Requests are kept apart as GitHub asks, by a clock that nobody can set."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django.fixtures import Settings

from runs.github import client, transport
from runs.github.transport import PAUSE, PAUSE_BETWEEN_WRITES, Pace
from runs.trackers import Place
from tests.fake_github import FakeGitHub, point

REPO = "acme/shop"


class _Clock:
    """Goes on only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    made = _Clock()
    monkeypatch.setattr(transport, "time", made)
    return made


@pytest.mark.parametrize(
    ("methods", "slept"),
    [
        (["GET", "GET"], [0, PAUSE]),
        (["POST", "GET"], [0, PAUSE]),
        (["GET", "POST"], [0, PAUSE]),
        (["POST", "PATCH"], [0, PAUSE_BETWEEN_WRITES]),
        (["POST", "GET", "POST"], [0, PAUSE, PAUSE_BETWEEN_WRITES - PAUSE]),
    ],
)
def test_requests_are_kept_apart(clock: _Clock, methods: list[str], slept: list[float]) -> None:
    pace = Pace()

    for method in methods:
        pace.wait_for_turn(method)
        pace.note(method)

    assert clock.slept == pytest.approx(slept)


def test_nobody_sleeps_until_a_clock_that_was_set_back_comes_there_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with FakeGitHub() as github:
        point(settings, github)
        issue = github.add_issue(REPO)
        site = client()
        with monkeypatch.context() as ahead:
            ahead.setattr("github.Requester.datetime", _Ahead)
            site.create_comment(Place(repository=REPO, issue=issue), "one")

        site.create_comment(Place(repository=REPO, issue=issue), "two")

    assert max(slept) <= PAUSE_BETWEEN_WRITES


class _Ahead:
    """A wall clock that is ten minutes ahead, as PyGithub reads it."""

    @staticmethod
    def now(_zone: object = None) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=10)
