"""Brings back what should be running and is not, and has said what should have been said."""

from feedback.requests import announce, answers
from runs.worker import sweep as steps


def sweep() -> None:
    steps.sweep()
    answers.catch_up()
    announce.catch_up()
