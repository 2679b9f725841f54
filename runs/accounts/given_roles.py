"""Roles that a sign-in provider gives by its groups, beside those that were given here."""

from collections.abc import Collection, Iterable, Sequence

from django.contrib.auth.models import User

from runs.accounts import users
from runs.domain.values.actors import ROLES, Role
from runs.models import GivenRole


def highest(groups: Collection[str], roles: Sequence[tuple[str, Role]]) -> Role | None:
    """Of the roles of somebody's groups the one that may do most."""
    return _higher(role for group, role in roles if group in groups)


def apply(user: User, wanted: Role | None) -> Role | None:
    """Give what the groups give now and take back what they gave; what was given here stays."""
    given = GivenRole.objects.filter(user=user).first()
    has = users.role_of(user)
    # Whoever was given another role here meanwhile has that one here.
    is_ours = given is not None and has == _higher([Role(given.role), _read(given.own_role)])
    own = _read(given.own_role) if given and is_ours else has
    role = _higher([own, wanted])
    if wanted is None:
        GivenRole.objects.filter(user=user).delete()
    else:
        note(user, wanted, own)
    if role != has:
        users.set_role(user, role)
    return role


def note(user: User, role: Role, own: Role | None = None) -> None:
    said = {"role": role.value, "own_role": own.value if own else ""}
    GivenRole.objects.update_or_create(user=user, defaults=said)


def _higher(roles: Iterable[Role | None]) -> Role | None:
    return max((role for role in roles if role), key=ROLES.index, default=None)


def _read(role: str) -> Role | None:
    return Role(role) if role else None
