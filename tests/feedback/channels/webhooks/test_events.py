import pytest

from feedback.channels.webhooks import events
from feedback.channels.webhooks.events import WebhookEvent
from runs.domain.values.errors import Invalid


def test_no_names_are_all_events() -> None:
    assert events.read(["", " "]) == list(WebhookEvent)


def test_names_are_read_once_and_in_order() -> None:
    wanted = [" run.finished", "request.opened", "run.finished"]

    assert events.read(wanted) == [WebhookEvent.REQUEST_OPENED, WebhookEvent.RUN_FINISHED]


def test_an_unknown_event_is_refused_with_the_nearest() -> None:
    with pytest.raises(Invalid, match=r"no event 'run\.finish'\. Did you mean run\.finished\?"):
        events.read(["run.finish"])
