"""Accounts, their roles, and the one-time links that sign somebody in."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from runs.accounts import stand_ins
from runs.domain.values.actors import ROLES, Actor, Role, Source
from runs.domain.values.errors import Invalid, NotFound, Problem, Refused
from runs.domain.workflow.reviewers import People
from runs.models import AccessToken

LINK_LASTS = timedelta(minutes=10)
_SALT = "faber.login-link"


def create(name: str, *, role: Role, password: str | None = None, email: str = "") -> User:
    """A new account in one role; without a password it can sign in by link only."""
    users = get_user_model()
    if exists(name):
        raise Refused(f"There is already an account {name}.")
    if AccessToken.objects.filter(name__iexact=name).exists():
        raise Refused(f"{name} is the name of a token. Choose another name.")
    try:
        users.username_validator(name)
    except ValidationError as error:
        problem = Problem("name", f"{name!r} is not an account name. {' '.join(error.messages)}")
        raise Invalid([problem]) from error
    _check_email(email)
    with transaction.atomic():
        user = users.objects.create_user(username=name, password=password, email=email)
        set_role(user, role)
    return user


def _check_email(email: str) -> None:
    try:
        if email:
            validate_email(email)
    except ValidationError as error:
        raise Invalid([Problem("email", f"{email!r} is not an e-mail address")]) from error


def exists(name: str) -> bool:
    return get_user_model().objects.filter(username__iexact=name).exists()


def role_of(user: User) -> Role | None:
    if user.is_superuser:
        return Role.ADMIN
    held = groups_of(user)
    return next((role for role in reversed(ROLES) if role.value in held), None)


def set_role(user: User, role: Role | None) -> None:
    """The one role among the account's groups; without any, it may do nothing."""
    others = user.groups.exclude(name__in=[each.value for each in Role])
    user.groups.set([*others, *([Group.objects.get(name=role.value)] if role else [])])
    user.is_staff = role in (Role.OPERATOR, Role.ADMIN)
    user.is_superuser = role is Role.ADMIN
    user.save(update_fields=["is_staff", "is_superuser"])


def first_account() -> User:
    """The account the first start signs in with; made when there is none."""
    first = get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
    return first or create("admin", role=Role.ADMIN)


def find(name: str) -> User:
    user = get_user_model().objects.filter(username__iexact=name).first()
    if user is None:
        raise NotFound(f"There is no account {name}.")
    return user


def active_names() -> list[str]:
    active = get_user_model().objects.filter(is_active=True)
    return list(active.order_by("username").values_list("username", flat=True))


def people() -> People:
    """Everybody who can be named as a reviewer."""
    return People(
        names=active_names(),
        groups=list(Group.objects.values_list("name", flat=True)),
    )


def actor_of(user: User, source: Source = Source.WEB, method: str = "session") -> Actor:
    # One look at the database tells both: hardly anybody stands in for somebody.
    rows = list(user.groups.values_list("name", stand_ins.is_needed(user.pk)))
    groups = frozenset(name for name, _ in rows)
    return Actor(
        name=user.get_username(),
        username=user.get_username(),
        email=user.email,
        source=source,
        method=method,
        user_id=user.pk,
        groups=groups,
        sees_all=user.is_superuser or operates(groups),
        stands_in_for=stand_ins.absent_for(user.pk) if any(each for _, each in rows) else (),
    )


def groups_of(user: User) -> frozenset[str]:
    return frozenset(user.groups.values_list("name", flat=True))


def operates(groups: frozenset[str]) -> bool:
    """Whether whoever is in these groups operates the site."""
    return not groups.isdisjoint({Role.OPERATOR.value, Role.ADMIN.value})


def login_link(user: User) -> tuple[str, datetime]:
    """A link that signs this account in once, and the moment it stops working."""
    token = signing.dumps([user.pk, _fingerprint(user)], salt=_SALT, compress=True)
    return f"{settings.FABER_BASE_URL}/login/link/{token}/", timezone.now() + LINK_LASTS


def owner_of_link(token: str) -> User:
    """Whom a link would sign in; nothing changes yet."""
    try:
        user_pk, fingerprint = signing.loads(token, salt=_SALT, max_age=LINK_LASTS)
    except signing.BadSignature as error:
        raise Refused("This sign-in link has expired. Ask for a new one.") from error
    user = get_user_model().objects.filter(pk=user_pk, is_active=True).first()
    if user is None or _fingerprint(user) != fingerprint:
        raise Refused("This sign-in link was already used. Ask for a new one.")
    return user


def spend_link(token: str) -> User:
    """Use a link up: of two who press at once, one gets in."""
    user = owner_of_link(token)
    used = get_user_model().objects.filter(pk=user.pk, last_login=user.last_login)
    if not used.update(last_login=timezone.now()):
        raise Refused("This sign-in link was already used. Ask for a new one.")
    return user


def _fingerprint(user: User) -> str:
    """Changes with every sign-in and every new password, and with it the link dies."""
    seen = user.last_login.isoformat() if user.last_login else "never"
    return signing.Signer(salt=_SALT).signature(f"{user.pk}:{seen}:{user.password}")[:16]
