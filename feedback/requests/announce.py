"""Tells every channel what happened to a request or a run, in the transaction that made it so.

A channel only notes down what it has to say, and queues the job that says it after the commit.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from django.conf import settings

from feedback.models import FeedbackRequest, Inquiry
from runs.models import Run


class Channel(Protocol):
    """A module that FABER_CHANNELS names; each of these is called inside a transaction."""

    def opened(self, request: FeedbackRequest) -> None:
        """A question was put to people."""

    def changed(self, request: FeedbackRequest) -> None:
        """It was answered, its answer took effect or was taken back, or it was withdrawn."""

    def run_moved(self, run: Run) -> None:
        """A run began, failed or came to its end; one that failed can be resumed."""

    # A channel may leave these five out, and says nothing then.

    def reminded(self, request: FeedbackRequest, to: Sequence[str]) -> None:
        """Nobody has decided yet; `to` are the reviewers, nobody means whoever may answer."""

    def escalated(self, request: FeedbackRequest, to: Sequence[str]) -> None:
        """These are asked too from now on."""

    def delegated(self, request: FeedbackRequest, to: str) -> None:
        """It was handed over to somebody."""

    def replied(self, inquiry: Inquiry) -> None:
        """An agent answered a reviewer's question, or could not."""

    def pull_opened(self, run: Run) -> None:
        """A run opened a pull request."""

    def catch_up(self) -> None:
        """Do what should have been done by now and was not: its job was lost. No transaction."""


def opened(request: FeedbackRequest) -> None:
    for channel in _channels():
        channel.opened(request)


def changed(request: FeedbackRequest) -> None:
    for channel in _channels():
        channel.changed(request)


def run_moved(run: Run) -> None:
    for channel in _channels():
        channel.run_moved(run)


def reminded(request: FeedbackRequest, to: Sequence[str]) -> None:
    for channel in _channels():
        if hasattr(channel, "reminded"):
            channel.reminded(request, to)


def escalated(request: FeedbackRequest, to: Sequence[str]) -> None:
    for channel in _channels():
        if hasattr(channel, "escalated"):
            channel.escalated(request, to)


def delegated(request: FeedbackRequest, to: str) -> None:
    for channel in _channels():
        if hasattr(channel, "delegated"):
            channel.delegated(request, to)


def replied(inquiry: Inquiry) -> None:
    for channel in _channels():
        if hasattr(channel, "replied"):
            channel.replied(inquiry)


def pull_opened(run: Run) -> None:
    for channel in _channels():
        if hasattr(channel, "pull_opened"):
            channel.pull_opened(run)


def catch_up() -> None:
    for channel in _channels():
        channel.catch_up()


def _channels() -> Sequence[Channel]:
    return _loaded(settings.FABER_CHANNELS)


@cache
def _loaded(paths: tuple[str, ...]) -> Sequence[Channel]:
    return [cast("Channel", import_module(path)) for path in paths]
