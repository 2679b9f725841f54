"""Tells of a whole batch on its coordinating issue: one comment, brought up to date in place."""

from feedback.batches import aggregate
from feedback.channels.github import channel
from feedback.channels.github.escape import fenced, link
from runs.engine.batches import batch_url
from runs.models import Batch, Run


def tell(batch_pk: int) -> bool:
    """Have the comment say how the batch stands now; False where there is no issue for that."""
    batch = Batch.objects.select_related("project").get(pk=batch_pk)
    place = channel.place_of(Run(project=batch.project, work_id=batch.issue))
    if place is None:
        return False
    # Fenced: what runs ask was written by agents, and must not mention or mark anything up.
    text = fenced(aggregate.prompt(batch))
    body = f"{link('Answer all of them in FABER', batch_url(batch))}\n\n{text}"
    channel.keep_saying(batch.batch_id, place, body)
    return True
