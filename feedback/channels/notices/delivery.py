"""One message to one receiver: new, in the thread of an earlier one, or in its place."""

from collections.abc import Sequence

from feedback.channels.notices import chat, connections, editable, mail, told
from feedback.channels.notices.receivers import Receiver
from feedback.channels.notices.text import Message
from feedback.models import Notice
from feedback.models.notices import CLOSING


def deliver(receiver: Receiver, notices: Sequence[Notice]) -> dict[str, str]:
    """Send it; gives what the message is found by later."""
    first = notices[0]
    announcements = [notice.announcement for notice in notices]
    is_one = len(notices) == 1
    message = told.message(announcements[0]) if is_one else told.digest(announcements)
    if receiver.email:
        return _mail(receiver, message, first)
    if not editable.can_edit(receiver.url):
        chat.send(receiver, message)
        return {}
    opening = opening_of(first)
    if is_one and opening and is_rewritten(first, opening):
        return editable.edit(receiver.url, opening.reference, message)
    reference = editable.send(receiver.url, message)
    return reference if is_one else {}  # a digest stays as it is


def is_rewritten(notice: Notice, opening: Notice) -> bool:
    """Whether the end of a request takes the place of the message that told of it."""
    is_end = notice.announcement.kind in CLOSING
    return is_end and editable.is_editable(opening.reference)


def _mail(receiver: Receiver, message: Message, notice: Notice) -> dict[str, str]:
    about = notice.announcement
    own = mail.message_id(about.about, f"{about.kind}.{about.number}", receiver.key)
    opening = opening_of(notice)
    thread = opening.reference.get("message_id", "") if opening else ""
    with connections.limited(only_public=False):
        mail.send(receiver.email, message, message_id=own, thread=thread)
    return {"message_id": own}


def opening_of(notice: Notice) -> Notice | None:
    """What the same receiver was told first of the same request."""
    asked = notice.announcement.request
    if asked is None:
        return None
    earlier = Notice.objects.filter(
        announcement__request=asked, receiver=notice.receiver, pk__lt=notice.pk
    )
    return earlier.exclude(announcement__kind__in=CLOSING).order_by("pk").first()
