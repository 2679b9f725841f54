"""Brings back what should be running and is not, and has said what should have been said."""

from feedback.requests import announce, answers
from feedback.requests.deadlines import acting
from feedback.requests.inquiries import answering
from feedback.tool_calls import asking
from runs.chain import links
from runs.jobs import log_context
from runs.worker import sweep as steps
from runs.worker.lookout import Lookout


def sweep(lookout: Lookout | None = None) -> None:
    """One round; who looks for the first time takes no step from anybody."""
    with log_context.busy_with_run():
        steps.sweep(lookout or Lookout())
        answers.catch_up()
        acting.catch_up()
        answering.catch_up()
        announce.catch_up()
        asking.withdraw_abandoned()
        links.link_new()
