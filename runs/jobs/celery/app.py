"""The Celery application: what its queues are called and how they behave; JSON and nothing else."""

import re
from functools import cache
from typing import Any

from celery import Celery
from django.conf import settings
from kombu import Exchange, Queue

from runs.jobs.celery import brokers
from runs.models import machine

# A step may last hours: so long the broker leaves its job alone. A dead worker's is found sooner by
# its lease, and when it comes again after all, it finds nothing to do.
_PATIENCE = 24 * 3600
# RabbitMQ cuts off who holds a job for half an hour. From here on its classic queues have no such
# limit, and refuse to hear of one.
_WITHOUT_LIMIT = (4, 3)
# Queues of machines and clusters that are gone disappear after so long.
_UNUSED = 24 * 3600


class PatientQueue(Queue):  # type: ignore[misc]  # kombu has no types
    def queue_declare(
        self,
        nowait: bool = False,
        passive: bool = False,
        channel: Any = None,
    ) -> Any:
        channel = channel or self.channel
        limit = {"x-consumer-timeout": _PATIENCE * 1000}
        self.queue_arguments = limit if _has_limit(channel) else None
        return super().queue_declare(nowait=nowait, passive=passive, channel=channel)


def _has_limit(channel: Any) -> bool:
    told = getattr(channel.connection, "server_properties", {})  # nothing by Redis
    found = re.match(r"(\d+)\.(\d+)", str(told.get("version", "")))
    return found is not None and tuple(map(int, found.groups())) < _WITHOUT_LIMIT


def queue(name: str) -> Queue:
    """By its name in the table, or by that of a machine or a cluster."""
    return PatientQueue(
        called(name),
        Exchange(called("faber")),
        routing_key=called(name),
        expires=_UNUSED if "@" in name else None,
    )


def called(name: str) -> str:
    """What a queue is called there, and what they are reached through."""
    return f"{name}-{_mark()}"


def made() -> Celery:
    return _made(settings.FABER_CELERY_BROKER_URL)


@cache
def _made(address: str) -> Celery:
    app = Celery("faber", broker=address, fixups=(), set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        # Celery's own names may be in use there.
        task_default_queue=called("faber"),
        task_default_exchange=called("faber"),
        task_create_missing_queues=False,
        task_publish_retry=False,
        # Whoever executes a job holds it: none waits behind a step that lasts an hour.
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_pool="prefork",
        worker_lost_wait=1,
        worker_proc_alive_timeout=60,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=of_transport(),
    )
    return app


def of_transport() -> dict[str, object]:
    """What is said to the broker's own protocol."""
    if brokers.is_amqp():
        return {}
    unacked = f"faber-unacked-{_mark()}"
    return {
        "visibility_timeout": _PATIENCE,
        "queue_order_strategy": "priority",  # as they are listed
        "priority_steps": [0],
        "unacked_key": unacked,
        "unacked_index_key": f"{unacked}-index",
        "unacked_mutex_key": f"{unacked}-mutex",
    }


def _mark() -> str:
    """Keeps sites apart that use the same broker."""
    return machine.key_mark(settings.SECRET_KEY)
