"""The secret with which the comments of one project's repository are forwarded to the site."""

from urllib.parse import quote

from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils.crypto import salted_hmac

from runs import trackers
from runs.accounts.tokens import PREFIX
from runs.models import Project
from runs.trackers import Tracker

_SALT = "faber.webhook"


def address_of(project: Project) -> str:
    """Where deliveries go that are signed with the project's own secret."""
    tracker = trackers.tracker_of(project.tracker) or Tracker.GITHUB
    path = reverse(f"{tracker}-webhook")
    return f"{settings.FABER_BASE_URL}{path}?project={quote(project.name)}"


def renew(project: Project) -> str:
    """A new secret, shown now; the one before it ends."""
    Project.objects.filter(pk=project.pk).update(webhook_number=F("webhook_number") + 1)
    project.refresh_from_db(fields=["webhook_number"])
    return secret_of(project)


def secret_of(project: Project) -> str:
    """The present secret; nothing when none was made.

    It is computed from the site's key, so that a stolen database does not hold it.
    """
    if not project.webhook_number:
        return ""
    about = f"{project.pk}:{project.webhook_number}"
    return f"{PREFIX}webhook_{salted_hmac(_SALT, about, algorithm='sha256').hexdigest()}"
