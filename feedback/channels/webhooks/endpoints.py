"""Adds, finds, rotates and removes webhooks; the one place that knows who may."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from feedback.channels.callbacks import channel as callbacks
from feedback.channels.callbacks import signing
from feedback.channels.webhooks.events import WebhookEvent
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.accounts import membership, permissions
from runs.chain import entries
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotAllowed, NotFound
from runs.domain.values.events import timestamp
from runs.models import Project

Json = dict[str, object]

_SALT = "feedback.channels.webhooks"
# For so long after a rotation receivers may still know the old secret alone.
OVERLAP = timedelta(hours=24)


def add(
    url: str, events: Sequence[WebhookEvent], *, project: Project | None, actor: Actor
) -> WebhookEndpoint:
    """It asks for names, so outside any transaction."""
    check_may_manage(actor, project)
    callbacks.check(url, place="url")
    with transaction.atomic():
        endpoint = WebhookEndpoint.objects.create(
            endpoint_id=f"wh_{secrets.token_hex(6)}",
            url=url,
            project=project,
            events=[event.value for event in events],
            created_by=actor.name[:200],
        )
        _note(actor, "added", endpoint, f" for {', '.join(endpoint.events)}")
    return endpoint


def remove(endpoint: WebhookEndpoint, actor: Actor) -> None:
    """With all that was, or was to be, sent there."""
    with transaction.atomic():
        _note(actor, "removed", endpoint)
        endpoint.delete()


def rotate(endpoint: WebhookEndpoint, actor: Actor) -> str:
    """The new secret; for a while deliveries are signed with the old one too."""
    with transaction.atomic():
        locked = WebhookEndpoint.objects.select_for_update().get(pk=endpoint.pk)
        locked.secret_number += 1
        locked.rotated_at = timezone.now()
        locked.save(update_fields=["secret_number", "rotated_at"])
        _note(actor, "rotated the secret of", locked)
    return secret_of(locked)


def secret_of(endpoint: WebhookEndpoint) -> str:
    return signing.as_secret(_key(endpoint, endpoint.secret_number))


def keys_of(endpoint: WebhookEndpoint) -> list[bytes]:
    """What deliveries are signed with now, the newest first."""
    number, rotated = endpoint.secret_number, endpoint.rotated_at
    is_known_yet = rotated is None or rotated < timezone.now() - OVERLAP
    return [_key(endpoint, each) for each in ([number] if is_known_yet else [number, number - 1])]


def listed(actor: Actor) -> list[WebhookEndpoint]:
    """The webhooks that somebody may manage, the oldest first."""
    known = WebhookEndpoint.objects.select_related("project").order_by("pk")
    return [endpoint for endpoint in known if _may_manage(actor, endpoint.project)]


def find(endpoint_id: str, actor: Actor) -> WebhookEndpoint:
    found = (
        WebhookEndpoint.objects.select_related("project").filter(endpoint_id=endpoint_id).first()
    )
    if found is None or (found.project and not membership.sees(actor, found.project)):
        raise NotFound(f"There is no webhook {endpoint_id!r}.")
    check_may_manage(actor, found.project)
    return found


def find_delivery(delivery_id: str, actor: Actor) -> WebhookDelivery:
    found = (
        WebhookDelivery.objects.select_related("endpoint__project")
        .filter(delivery_id=delivery_id)
        .first()
    )
    project = found.endpoint.project if found else None
    if found is None or (project and not membership.sees(actor, project)):
        raise NotFound(f"There is no delivery {delivery_id!r}.")
    check_may_manage(actor, project)
    return found


def projects_of(actor: Actor) -> list[Project]:
    """Where somebody may have webhooks."""
    known = Project.objects.order_by("name")
    return [project for project in known if permissions.may_operate(actor, project)]


def may_manage_site(actor: Actor) -> bool:
    """A webhook of the site hears of every project, so it is for those who see them all."""
    return permissions.may_operate(actor) and membership.sight_of(actor).is_site


def check_may_manage(actor: Actor, project: Project | None) -> None:
    if project is not None:
        membership.check_sees(actor, project)
        permissions.check_may_operate(actor, project)
    elif not may_manage_site(actor):
        raise NotAllowed(
            "Webhooks for the whole site are for operators who see every project. Name a project."
        )


def check_may_manage_some(actor: Actor) -> None:
    if not (may_manage_site(actor) or projects_of(actor)):
        raise NotAllowed("This is for operators.")


def shape(endpoint: WebhookEndpoint) -> Json:
    return {
        "id": endpoint.endpoint_id,
        "url": endpoint.url,
        "events": endpoint.events,
        "project": endpoint.project.name if endpoint.project else None,
        "created_by": endpoint.created_by,
        "created_at": timestamp(endpoint.created_at),
        "rotated_at": timestamp(endpoint.rotated_at) if endpoint.rotated_at else None,
        "disabled_at": timestamp(endpoint.disabled_at) if endpoint.disabled_at else None,
    }


def added_shape(endpoint: WebhookEndpoint) -> Json:
    """What its maker is shown once."""
    whole = shape(endpoint)
    kept = ("id", "url", "events", *(("project",) if endpoint.project else ()))
    return {**{key: whole[key] for key in kept}, "secret": secret_of(endpoint)}


def host_of(endpoint: WebhookEndpoint) -> str:
    """The address without its path, which may hold a secret of the receiver's."""
    return urlsplit(endpoint.url).netloc


def _may_manage(actor: Actor, project: Project | None) -> bool:
    if project is None:
        return may_manage_site(actor)
    return membership.sees(actor, project) and permissions.may_operate(actor, project)


def _note(actor: Actor, did: str, endpoint: WebhookEndpoint, more: str = "") -> None:
    project = endpoint.project.name if endpoint.project else ""
    what = f"{did} webhook {endpoint.endpoint_id} to {host_of(endpoint)}{more}"
    entries.rule(actor, what, project=project)


def _key(endpoint: WebhookEndpoint, number: int) -> bytes:
    return signing.key_of(_SALT, f"{endpoint.endpoint_id}|{number}")
