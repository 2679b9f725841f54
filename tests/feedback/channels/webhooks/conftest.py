"""A receiver, and a webhook that calls it."""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints, events
from feedback.models import WebhookEndpoint
from tests import factories as f
from tests.receiver import Receiver, running


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    with running() as receiver:
        yield receiver


@pytest.fixture
def webhook(db: None, receiver: Receiver) -> WebhookEndpoint:
    return endpoints.add(receiver.url, events.read([]), project=None, actor=f.STARTER)
