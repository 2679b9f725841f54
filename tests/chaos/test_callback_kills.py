"""A worker killed while it calls a program back: the program is told, with one id."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.channels.callbacks import calls, channel
from feedback.channels.callbacks.addresses import read_allowed
from feedback.models import Callback
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from tests import factories as f
from tests.chaos.test_crash_points import was_killed
from tests.jobs import later, work_off
from tests.receiver import Receiver, running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.chaos]

MOST_STATEMENTS = 60


def asked(receiver: Receiver) -> Callback:
    """A run whose request wants to be told."""
    token, _ = tokens.create(f"bot-{Callback.objects.count()}", scope=Scope.AGENT)
    request = f.pending(f.started(f.five_steps()))
    channel.promise(request, receiver.url, token)
    return Callback.objects.get(request=request)


def let_time_pass() -> None:
    """What some minutes would do: the turn of the dead worker ends, and the sweep looks."""
    long_ago = timezone.now() - timedelta(minutes=2)
    Callback.objects.filter(is_due=True).update(next_try_at=long_ago)
    sweep()
    # Whoever lives would say so before this job comes.
    Callback.objects.filter(is_due=True).update(next_try_at=long_ago)
    later(60)
    work_off()


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_a_call_loses_no_call(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    was_called_twice = False
    for fatal in range(MOST_STATEMENTS):
        with running() as receiver:
            callback = asked(receiver)
            f.answer(callback.request.run, "approve")

            killed = was_killed(partial(calls.call, callback.pk), fatal)
            let_time_pass()

            assert set(receiver.ids) == {callback.request.request_id}
            was_called_twice |= len(receiver.calls) == 2
        callback.refresh_from_db()
        assert callback.delivered_at is not None
        if not killed:
            assert was_called_twice, "one of the kills was between the call and its record"
            return
    raise AssertionError("the call has more statements than the test allows")


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_an_answer_tells_once_or_nothing(
    settings: Settings,
) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    for fatal in range(MOST_STATEMENTS):
        with running() as receiver:
            run = asked(receiver).request.run

            killed = was_killed(partial(f.answer, run, "approve"), fatal)
            let_time_pass()
            was_taken = f.fresh(run).status != "awaiting_feedback"

            assert len(receiver.calls) == was_taken
        if not killed:
            assert was_taken
            return
    raise AssertionError("the answer has more statements than the test allows")
