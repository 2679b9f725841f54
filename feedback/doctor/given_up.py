"""What a tracker did not know in the end: a place to comment on, a comment that commands."""

from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from feedback.channels.trackers import inbound
from feedback.channels.trackers.delivery import TRIES_FOR_A_PLACE, deliver_now
from feedback.doctor.finding import MOST, REMEMBERED, Finding, place_of
from feedback.models import CommentState, Delivery, InboundComment


def findings() -> Iterator[Finding]:
    """Nobody asks for these any more; the newest of them stay on the list for a while."""
    after = timezone.now() - REMEMBERED
    unposted = Delivery.objects.filter(
        is_due=False, attempts__gte=TRIES_FOR_A_PLACE, next_try_at__gt=after
    )
    for delivery in unposted[:MOST]:
        yield Finding(
            what=f"The comment {delivery.mark} is not on {place_of(delivery)}",
            cause=f"{delivery.last_error} FABER gave up after {delivery.attempts} attempts.",
            since=delivery.created_at,
            repair=f"Make sure the token can access {place_of(delivery)}, then post it again.",
            fix=partial(deliver_now, delivery.pk),
        )
    gone = InboundComment.objects.filter(state=CommentState.GIVEN_UP, heard_at__gt=after)
    for comment in gone[:MOST]:
        yield Finding(
            what=f"A command by {comment.author} on {place_of(comment)} was not processed",
            cause=f"the comment is no longer on {comment.place.tracker.label};"
            " it was probably deleted",
            since=comment.heard_at,
            repair="Look for it once more, and drop it if it is gone.",
            fix=partial(inbound.look_once_more, comment.pk),
        )
