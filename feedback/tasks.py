"""What the worker runs for requests, answers and comments."""

from feedback.batches import comment
from feedback.channels.callbacks import calls
from feedback.channels.github import delivery, inbound, polling, webhook
from feedback.requests import undo
from runs.models import Batch


def take_effect(response_pk: int) -> None:
    """Send a run on when nobody has taken its answer back."""
    undo.take_effect(response_pk)


def deliver(delivery_pk: int) -> None:
    delivery.deliver(delivery_pk)


def call_back(callback_pk: int) -> None:
    calls.call(callback_pk)


def read_webhooks() -> None:
    webhook.read_new()


def act_on(heard_pk: int) -> None:
    inbound.act_on(heard_pk)


def poll(listening_pk: int) -> None:
    polling.poll(listening_pk)


def tell_batch(batch_pk: int) -> None:
    comment.tell(Batch.objects.select_related("project").get(pk=batch_pk))
