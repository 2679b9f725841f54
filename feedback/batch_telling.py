"""Tells of a whole batch on its coordinating issue: one comment, brought up to date in place."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from feedback import batch_reading, mirroring
from feedback.domain.harmless import fenced, link
from feedback.models import Delivery
from runs import queue
from runs.batches import batch_url
from runs.models import Batch, Run


def tell(batch: Batch) -> bool:
    """Have the comment say how the batch stands now; False where there is no issue for that."""
    place = mirroring.place_of(Run(project=batch.project, work_id=batch.issue))
    if place is None:
        return False
    # Fenced: what runs ask was written by agents, and must not mention or mark anything up.
    text = fenced(batch_reading.prompt(batch))
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
            queue.enqueue(mirroring.DELIVER, delivery.pk)
        elif delivery.body != body:
            Delivery.objects.filter(pk=delivery.pk).update(
                body=body,
                is_due=True,
                version=F("version") + 1,
                attempts=0,
                next_try_at=timezone.now(),
            )
            queue.enqueue(mirroring.DELIVER, delivery.pk)
    return True
