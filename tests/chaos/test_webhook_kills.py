"""A worker killed while it sends a delivery: the receiver is told, with one id."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints, events, sending
from feedback.models import WebhookDelivery, WebhookEndpoint
from tests import factories as f
from tests.chaos.test_crash_points import was_killed
from tests.jobs import work_off
from tests.receiver import Receiver, running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.chaos]

MOST_STATEMENTS = 60


def webhook(receiver: Receiver) -> WebhookEndpoint:
    WebhookEndpoint.objects.all().delete()
    wanted = events.read(["request.decided"])
    return endpoints.add(receiver.url, wanted, project=None, actor=f.STARTER)


def let_time_pass() -> None:
    """What some minutes would do: the turn of the dead worker ends, and the sweep looks."""
    long_ago = timezone.now() - timedelta(minutes=2)
    WebhookDelivery.objects.filter(is_due=True).update(next_try_at=long_ago)
    WebhookEndpoint.objects.update(retry_at=long_ago)
    sweep()
    work_off()


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_a_sending_loses_no_delivery(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    was_sent_twice = False
    for fatal in range(MOST_STATEMENTS):
        with running() as receiver:
            webhook(receiver)
            f.answer(f.started(f.five_steps()), "approve")
            delivery = WebhookDelivery.objects.get()

            killed = was_killed(sending.send_due, fatal)
            let_time_pass()

            assert set(receiver.ids) == {delivery.delivery_id}
            was_sent_twice |= len(receiver.calls) == 2
        delivery.refresh_from_db()
        assert delivery.delivered_at is not None
        if not killed:
            assert was_sent_twice, "one of the kills was between the sending and its record"
            return
    raise AssertionError("the sending has more statements than the test allows")


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_an_answer_tells_once_or_nothing(
    settings: Settings,
) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    for fatal in range(MOST_STATEMENTS):
        with running() as receiver:
            webhook(receiver)
            run = f.started(f.five_steps())

            killed = was_killed(lambda run=run: f.answer(run, "approve"), fatal)  # type: ignore[misc]
            let_time_pass()
            was_taken = f.fresh(run).status != "awaiting_feedback"

            assert len(receiver.calls) == was_taken
        if not killed:
            assert was_taken
            return
    raise AssertionError("the answer has more statements than the test allows")
