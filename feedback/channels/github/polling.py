"""Reads the comments of repositories: what a webhook did not bring is found here."""

import logging
from datetime import timedelta

from feedback.channels.github.inbound import hear
from feedback.models import Listening
from runs import github
from runs.github import GitHubError
from runs.models import clock

logger = logging.getLogger(__name__)

# GitHub counts in whole seconds, and a comment may be listed a moment after it was made.
_OVERLAP = timedelta(seconds=2)


def poll(listening_pk: int) -> int:
    """Hear what is new in one repository; returns how many comments spoke to us."""
    listening = Listening.objects.get(pk=listening_pk)
    try:
        news = github.client().comments_since(listening.repository, listening.since, listening.etag)
        heard = 0
        for comment in news.comments if news else ():
            heard += hear(listening.repository, comment)
    except GitHubError as error:
        logger.warning("%s cannot be read now: %s", listening.repository, error)
        Listening.objects.filter(pk=listening.pk).update(last_error=str(error)[:1000])
        return 0
    listening.polled_at, listening.last_error = clock.now(), ""
    if news:
        listening.etag = news.etag
        if news.comments:
            newest = max(comment.updated_at for comment in news.comments)
            listening.since = max(listening.since, newest - _OVERLAP)
            listening.etag = ""  # of another question from now on
    listening.save(update_fields=["since", "etag", "polled_at", "last_error"])
    return heard


def poll_all() -> int:
    return sum(poll(pk) for pk in Listening.objects.values_list("pk", flat=True))
