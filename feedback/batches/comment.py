"""Tells of a whole batch on its coordinating issue: one comment, brought up to date in place."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from feedback.batches import aggregate
from feedback.channels.github import outbox
from feedback.channels.github.escape import fenced, link
from feedback.models import Delivery
from runs.engine.batches import batch_url
from runs.jobs import queue
from runs.models import Batch, Run


def tell(batch: Batch) -> bool:
    """Have the comment say how the batch stands now; False where there is no issue for that."""
    place = outbox.place_of(Run(project=batch.project, work_id=batch.issue))
    if place is None:
        return False
    # Fenced: what runs ask was written by agents, and must not mention or mark anything up.
    text = fenced(aggregate.prompt(batch))
    body = f"{link('Answer all of them in FABER', batch_url(batch))}\n\n{text}"
    with transaction.atomic():
        delivery, is_new = Delivery.objects.get_or_create(
            mark=batch.batch_id,
            defaults={
                "kind": Delivery.Kind.REPLY,
                "repository": place.repository,
                "issue": place.issue,
                "body": body,
            },
        )
        if is_new:
            queue.enqueue(outbox.DELIVER, delivery.pk)
        elif delivery.body != body:
            Delivery.objects.filter(pk=delivery.pk).update(
                body=body,
                is_due=True,
                version=F("version") + 1,
                attempts=0,
                next_try_at=timezone.now(),
            )
            queue.enqueue(outbox.DELIVER, delivery.pk)
    return True
