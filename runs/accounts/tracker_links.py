"""Whose an account on a tracker is: by its number, which nobody inherits, never by its login."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from runs import trackers
from runs.accounts import stand_ins, users
from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.errors import NotFound, Refused
from runs.models import GitHubLink
from runs.trackers import NotThere, Tracker


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """An account here and one on a tracker that are the same person's."""

    tracker: Tracker
    name: str
    login: str
    number: int


def link(user: User, login: str, tracker: Tracker = Tracker.GITHUB) -> Linked:
    """Link whoever has this login now; it stays theirs when they rename it."""
    service = trackers.service(tracker)
    if not service.is_on():
        raise Refused(f"{tracker.label} is off. {service.options().credentials}")
    try:
        found = service.client().user(login)
    except NotThere:
        raise NotFound(f"{tracker.label} has no account {login}.") from None
    if found.is_bot:
        raise Refused(f"{found.login} is a bot. Bots can't make decisions.")
    owners = {owner.pk: owner for owner in _owners(tracker, found.id)}
    for other in owners.values():
        if other.pk != user.pk:
            raise Refused(f"{found.login} is already linked to {other.get_username()}.")
    if not owners:
        GitHubLink.objects.create(tracker=tracker, number=found.id, login=found.login, user=user)
    return Linked(tracker=tracker, name=user.get_username(), login=found.login, number=found.id)


def unlink(user: User, login: str, tracker: Tracker = Tracker.GITHUB) -> None:
    links = GitHubLink.objects.filter(user=user, tracker=tracker, login__iexact=login)
    gone, _ = links.delete()
    if not gone:
        raise NotFound(f"{user.get_username()} is not linked to {login}.")


def links() -> list[Linked]:
    """Every link, made by an operator or by signing in with GitHub."""
    made = [
        Linked(
            tracker=Tracker(row.tracker),
            name=row.user.get_username(),
            login=row.login,
            number=row.number,
        )
        for row in GitHubLink.objects.select_related("user")
    ]
    return sorted({*made, *_signed_in()}, key=lambda linked: (linked.name, linked.login))


def actor_of(tracker: Tracker, login: str, number: int | None) -> Actor:
    """Somebody who may write to a repository: with their account's rights when it is linked.

    An account of the same name is not known to be theirs, so it gives nothing; but whoever counts
    people counts them as one.
    """
    owners = _owners(tracker, number) if number else []
    account = owners[0] if len(owners) == 1 else None
    namesake = None if account else _named(login)
    none: frozenset[str] = frozenset()
    is_closed = account is not None and not account.is_active
    own = users.groups_of(account) if account and not is_closed else none
    lent = none if is_closed else frozenset({Role.REVIEWER.value})
    return Actor(
        name=login,
        source=Source.ISSUE_COMMENT,
        method="issue_comment_author",
        username=account.get_username() if account else "",
        account=account.get_username() if account else "",
        user_id=account.pk if account else None,
        namesake_id=namesake.pk if namesake else None,
        groups=own | lent,
        lent=lent - own,
        sees_all=account is not None and users.operates(own),
        stands_in_for=stand_ins.absent_for(account.pk if account and own else None),
    )


def _owners(tracker: Tracker, number: int) -> list[User]:
    """Whose it is; two only when somebody signed in with what an operator linked to another."""
    links = GitHubLink.objects.filter(tracker=tracker, number=number)
    known = set(links.values_list("user", flat=True))
    if social := _social_accounts():
        signed_in = social.objects.filter(provider=tracker.value, uid=str(number))
        known |= set(signed_in.values_list("user", flat=True))
    return list(get_user_model().objects.filter(pk__in=known))


def _named(login: str) -> User | None:
    return get_user_model().objects.filter(username__iexact=login).first()


def _signed_in() -> Iterator[Linked]:
    social = _social_accounts()
    for row in social.objects.filter(provider="github").select_related("user") if social else ():
        login = str(row.extra_data.get("login", ""))
        yield Linked(
            tracker=Tracker.GITHUB,
            name=row.user.get_username(),
            login=login,
            number=int(row.uid),
        )


def _social_accounts() -> Any:
    """The links that signing in with GitHub makes, where that is set up."""
    if not apps.is_installed("allauth.socialaccount"):
        return None
    return import_string("allauth.socialaccount.models.SocialAccount")
