"""Everybody who may stand at a door, and how far they get in each project and on the site."""

from dataclasses import dataclass
from enum import IntEnum

from django.contrib.auth.models import User
from django.test import Client

from runs.accounts import tokens, users
from runs.domain.values.actors import Role, Scope
from runs.models import Project
from tests.api_client import Program


class Level(IntEnum):
    """How far somebody gets; whatever a higher one may, it may too."""

    NONE = 0  # it does not exist for them
    READ = 1
    ACT = 2  # a program: asks, executes remote steps, reports
    ANSWER = 3
    OPERATE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What somebody may in the open project, in the closed one, and of the site."""

    open: Level
    closed: Level
    site: Level


_NONE, _READ, _ACT, _ANSWER, _OPERATE = Level
STAYS_OUT = Standing(open=_NONE, closed=_NONE, site=_NONE)

# Role on the site, role in both projects.
PEOPLE = {
    "viewer": (Role.VIEWER, "", Standing(open=_READ, closed=_NONE, site=_READ)),
    "reviewer": (Role.REVIEWER, "", Standing(open=_ANSWER, closed=_NONE, site=_ANSWER)),
    "looker": (Role.REVIEWER, "viewer", Standing(open=_READ, closed=_READ, site=_ANSWER)),
    "member": (Role.VIEWER, "reviewer", Standing(open=_ANSWER, closed=_ANSWER, site=_READ)),
    "head": (Role.VIEWER, "operator", Standing(open=_OPERATE, closed=_OPERATE, site=_READ)),
    "operator": (Role.OPERATOR, "", Standing(open=_OPERATE, closed=_OPERATE, site=_OPERATE)),
    "admin": (Role.ADMIN, "", Standing(open=_OPERATE, closed=_OPERATE, site=_OPERATE)),
}
VISITORS = ["anonymous", "left", *PEOPLE]

_A, _R, _O = Scope
# Scope, owner, whether it is bound to the closed project.
TOKENS = {
    "agent": (_A, "", False, Standing(open=_ACT, closed=_NONE, site=_ACT)),
    "bound agent": (_A, "", True, Standing(open=_NONE, closed=_ACT, site=_ACT)),
    "agent of a viewer": (_A, "viewer", False, Standing(open=_READ, closed=_NONE, site=_READ)),
    "agent of a member": (_A, "member", False, Standing(open=_ACT, closed=_ACT, site=_READ)),
    "reviewer": (_R, "", False, Standing(open=_ANSWER, closed=_NONE, site=_ANSWER)),
    "bound reviewer": (_R, "", True, Standing(open=_NONE, closed=_ANSWER, site=_ANSWER)),
    "of a reviewer": (_R, "reviewer", False, Standing(open=_ANSWER, closed=_NONE, site=_ANSWER)),
    "bound, of a reviewer": (
        _R,
        "reviewer",
        True,
        Standing(open=_NONE, closed=_NONE, site=_ANSWER),
    ),
    "of a member": (_R, "member", False, Standing(open=_ANSWER, closed=_ANSWER, site=_READ)),
    "of a head": (_R, "head", False, Standing(open=_ANSWER, closed=_ANSWER, site=_READ)),
    "operator": (_O, "", False, Standing(open=_OPERATE, closed=_NONE, site=_OPERATE)),
    "bound operator": (_O, "", True, Standing(open=_NONE, closed=_OPERATE, site=_OPERATE)),
    "of an operator": (
        _O,
        "operator",
        False,
        Standing(open=_OPERATE, closed=_OPERATE, site=_OPERATE),
    ),
    "operator's, of a member": (
        _O,
        "member",
        False,
        Standing(open=_ANSWER, closed=_ANSWER, site=_READ),
    ),
}
PROGRAMS = ["no token", "unknown", "revoked", *TOKENS]


def make_people(*projects: Project) -> None:
    for name, (role, _, _) in PEOPLE.items():
        users.create(name, role=role)
    left = users.create("left", role=Role.ADMIN)
    left.is_active = False
    left.save()
    members = [f"{name}:{role}" for name, (_, role, _) in PEOPLE.items() if role]
    for project in projects:
        project.members = members
        project.save()


def standing_of_visitor(name: str) -> Standing:
    return PEOPLE[name][2] if name in PEOPLE else STAYS_OUT


def standing_of_program(name: str) -> Standing:
    return TOKENS[name][3] if name in TOKENS else STAYS_OUT


def visitor(name: str) -> Client:
    client = Client(raise_request_exception=False)
    if name != "anonymous":
        client.force_login(User.objects.get(username=name))
    return client


def secret_of(name: str, closed: Project) -> str:
    if name == "no token":
        return ""
    if name == "unknown":
        return "faber_nobody-made-this-one-up"
    if name == "revoked":
        made, secret = tokens.create("revoked one", scope=Scope.OPERATOR)
        tokens.revoke(made.name)
        return secret
    scope, owner, is_bound, _ = TOKENS[name]
    user = User.objects.get(username=owner) if owner else None
    projects = [closed] if is_bound else []
    return tokens.create(f"token: {name}", scope=scope, user=user, projects=projects)[1]


def program(name: str, closed: Project) -> Program:
    return Program(secret_of(name, closed))
