"""What somebody sees and may do in a project: the one place that knows who belongs to it."""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

from runs.domain.values.actors import ROLES, Actor, Role, Scope
from runs.domain.values.errors import NotFound
from runs.domain.values.members import MEMBERS, read_members, role_of
from runs.models import Project

T = TypeVar("T", bound=Model)

_NAMES = frozenset(role.value for role in Role)
# The highest role that a program's scope leaves the person it speaks for.
_MOST = {Scope.AGENT: Role.VIEWER, Scope.REVIEWER: Role.REVIEWER, Scope.OPERATOR: Role.OPERATOR}


def sees(actor: Actor, project: Project) -> bool:
    """Whether the project exists for somebody."""
    if actor.projects is not None and project.pk not in actor.projects:
        return False
    if project.visibility != MEMBERS or actor.sees_all:
        return True
    if actor.token and actor.user_id is None:
        return actor.projects is not None  # a token of nobody's sees what it is bound to
    return role_of(actor, read_members(project.members)) is not None


def rights(actor: Actor, project: Project) -> frozenset[str]:
    """Somebody's groups, with the role they have in this project in place of the site's."""
    if not sees(actor, project):
        return frozenset()
    if actor.sees_all or not project.members:
        return actor.groups
    role = role_of(actor, read_members(project.members))
    return actor.groups if role is None else (actor.groups - _NAMES) | {_within(actor, role).value}


def check_sees(actor: Actor, project: Project) -> None:
    if not sees(actor, project):
        raise NotFound(f"There is no project {project.name!r}.")


def _within(actor: Actor, role: Role) -> Role:
    most = _MOST.get(actor.scope, role) if actor.scope and not actor.is_agent else role
    return min(role, most, key=ROLES.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Which projects exist for somebody, as a list or a search is narrowed by it."""

    only: frozenset[int] | None = None
    hidden: frozenset[int] = frozenset()
    is_site: bool = False  # also what is about the site itself

    def of(self, rows: QuerySet[T], project: str = "project") -> QuerySet[T]:
        """The rows of projects that exist; `project` is the way from a row to its project."""
        if self.only is not None:
            return rows.filter(**{f"{project}__in": self.only - self.hidden})
        return rows.exclude(**{f"{project}__in": self.hidden}) if self.hidden else rows

    @property
    def narrows(self) -> bool:
        return self.only is not None or bool(self.hidden)

    def includes(self, project_pk: int) -> bool:
        return project_pk not in self.hidden and (self.only is None or project_pk in self.only)


EVERYTHING = Sight(is_site=True)


def sight_of(actor: Actor) -> Sight:
    if actor.sees_all and actor.projects is None:
        return EVERYTHING
    closed = Project.objects.filter(visibility=MEMBERS).only("visibility", "members")
    hidden = frozenset(project.pk for project in closed if not sees(actor, project))
    return Sight(only=actor.projects, hidden=hidden)
