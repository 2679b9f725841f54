"""What the worker runs for requests, answers and comments."""

from feedback import batch_telling, calling, delivering, holding
from feedback.github import inbound, polling, webhook
from runs.models import Batch


def take_effect(response_pk: int) -> None:
    """Send a run on when nobody has taken its answer back."""
    holding.take_effect(response_pk)


def deliver(delivery_pk: int) -> None:
    delivering.deliver(delivery_pk)


def call_back(callback_pk: int) -> None:
    calling.call(callback_pk)


def read_webhooks() -> None:
    webhook.read_new()


def act_on(heard_pk: int) -> None:
    inbound.act_on(heard_pk)


def poll(listening_pk: int) -> None:
    polling.poll(listening_pk)


def tell_batch(batch_pk: int) -> None:
    batch_telling.tell(Batch.objects.select_related("project").get(pk=batch_pk))
