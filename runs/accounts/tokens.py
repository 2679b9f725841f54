"""What programs sign in with: made, found by their secret, revoked."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from runs.accounts import users
from runs.domain.values.actors import Actor, Role, Scope, Source
from runs.domain.values.errors import Invalid, NotAllowed, NotFound, Problem, Refused
from runs.models import AccessToken, Project

PREFIX = "faber_"  # by which a leaked token is recognised, in logs and by secret scanners
LONGEST_NAME = 100
_TOUCHED_EVERY = timedelta(minutes=1)

# What a scope lets its user do at most; roles of the user above it do not count.
_ROLES = {
    Scope.AGENT: frozenset[str](),
    Scope.REVIEWER: frozenset({Role.REVIEWER.value}),
    Scope.OPERATOR: frozenset({Role.REVIEWER.value, Role.OPERATOR.value, Role.ADMIN.value}),
}
_ABOVE_VIEWER = _ROLES[Scope.OPERATOR]


def create(
    name: str,
    *,
    scope: Scope,
    user: User | None = None,
    expires_at: datetime | None = None,
    projects: Sequence[Project] = (),
) -> tuple[AccessToken, str]:
    """A new token and its secret, which is shown now and never again."""
    name = _checked(name)
    secret = PREFIX + secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            token = AccessToken.objects.create(
                name=name,
                scope=scope.value,
                user=user,
                digest=_digest(secret),
                expires_at=expires_at,
                is_bound=bool(projects),
            )
            token.projects.set(projects)
    except IntegrityError:
        raise Refused(f"There is already a token {name}; choose another name.") from None
    return token, secret


def find(secret: str) -> AccessToken | None:
    """The token with this secret, if it may still be used."""
    if not secret.startswith(PREFIX):
        return None
    usable = AccessToken.objects.select_related("user")
    token = usable.filter(revoked_at=None, digest=_digest(secret)).first()
    if token is None or (token.expires_at and token.expires_at <= timezone.now()):
        return None
    return None if token.user and not token.user.is_active else token


def revoke(name: str, *, user: User | None = None) -> AccessToken:
    """From now on the token opens nothing; with a user only one of theirs is revoked."""
    tokens = AccessToken.objects.filter(name=name)
    token = (tokens.filter(user=user) if user else tokens).first()
    if token is None:
        raise NotFound(f"There is no token {name}.")
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
    return token


def touch(token: AccessToken) -> None:
    """Remember that it was used, with at most one write a minute."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > _TOUCHED_EVERY:
        AccessToken.objects.filter(pk=token.pk).update(last_used_at=now)


def actor_of(token: AccessToken, source: Source = Source.API) -> Actor:
    """Whom the token speaks for, with the roles that its scope leaves them."""
    scope = Scope(token.scope)
    if scope is Scope.AGENT:
        return agent_of(token, source)
    person = _owner_of(token, source)
    if token.user is None:
        return replace(person, groups=_ROLES[scope])
    return replace(person, groups=_within(scope, person.groups))


def agent_of(token: AccessToken, source: Source) -> Actor:
    """A program as its owner's agent, whatever its scope: it never does more than one may."""
    return replace(_owner_of(token, source), is_agent=True)


def _owner_of(token: AccessToken, source: Source) -> Actor:
    owner = (
        users.actor_of(token.user, source=source, method="token")
        if token.user
        else Actor(name=token.name, source=source, method="token")
    )
    bound = frozenset(project.pk for project in token.projects.all()) if token.is_bound else None
    return replace(owner, token=token.name, scope=Scope(token.scope), projects=bound)


def check_may_operate(actor: Actor, what: str) -> None:
    if actor.is_agent or not actor.has_role(Role.OPERATOR, Role.ADMIN):
        raise NotAllowed(f"{what} requires an operator token.")


def scopes_for(user: User) -> list[Scope]:
    """What this person can usefully ask for: a token never does more than its user."""
    groups = users.actor_of(user).groups
    if groups & {Role.OPERATOR.value, Role.ADMIN.value}:
        return list(Scope)
    return [Scope.AGENT, Scope.REVIEWER] if Role.REVIEWER.value in groups else [Scope.AGENT]


def _within(scope: Scope, groups: frozenset[str]) -> frozenset[str]:
    """The user's groups without the roles above the scope, and with those it implies."""
    implied = groups | {Role.REVIEWER.value} if groups & _ABOVE_VIEWER else groups
    return frozenset(group for group in implied if group not in _ABOVE_VIEWER - _ROLES[scope])


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid([Problem("name", f"a token's name has 1 to {LONGEST_NAME} characters")])
    if get_user_model().objects.filter(username__iexact=name).exists():
        # Reviewers are named by their account: the token must not pass for one of them.
        problem = f"{name} is an account name. Choose another name for the token"
        raise Invalid([Problem("name", problem)])
    return name


def _digest(secret: str) -> str:
    # The secret is random and long: a plain hash cannot be turned back or guessed.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
