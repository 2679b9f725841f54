"""Tells of a whole batch on its coordinating issue: one comment, brought up to date in place."""

from feedback.batches import aggregate
from feedback.batches.group import Group, runs_of
from feedback.channels.markdown.comments import MAX_CHARACTERS
from feedback.channels.markdown.escape import fenced, link
from feedback.channels.trackers import channel
from runs.engine.batches import batch_url
from runs.models import Batch, Run

_CUT = "\n… (see the batch page for the rest)"


def tell_of(group: Group) -> None:
    """Have it told wherever the runs of a group are told of."""
    for batch in Batch.objects.filter(runs__in=runs_of(group)).exclude(issue="").distinct():
        tell(batch.pk)


def tell(batch_pk: int) -> bool:
    """Have the comment say how the batch stands now; False where there is no issue for that."""
    batch = Batch.objects.select_related("project").get(pk=batch_pk)
    place = channel.place_of(Run(project=batch.project, work_id=batch.issue))
    if place is None:
        return False
    # Fenced: what runs ask was written by agents, and must not mention or mark anything up.
    text = fenced(_fitting(aggregate.prompt(batch)))
    body = f"{link('Answer all in FABER', batch_url(batch))}\n\n{text}"
    channel.keep_saying(batch.batch_id, place, body)
    return True


def _fitting(text: str) -> str:
    """As much as a comment holds; a large group asks more than that."""
    most = MAX_CHARACTERS - 1_000
    if len(text) <= most:
        return text
    lines, _, _ = text[: most - len(_CUT)].rpartition("\n")
    return lines + _CUT
