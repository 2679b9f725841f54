"""Who belongs to a project, and what they may do there."""

from collections.abc import Iterable
from dataclasses import dataclass

from runs.domain.values.actors import ROLES, Actor, Role
from runs.domain.values.errors import Invalid, Problem

EVERYONE, MEMBERS = "everyone", "members"
GROUP = "group:"

# An admin is one of the whole site.
_GIVEN = (Role.VIEWER, Role.REVIEWER, Role.OPERATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMember:
    """An account or a group, in one role."""

    name: str
    role: Role
    is_group: bool = False

    @property
    def who(self) -> str:
        """As it is named among reviewers too."""
        return f"{GROUP}{self.name}" if self.is_group else self.name

    def __str__(self) -> str:
        return f"{self.who}:{self.role.value}"

    def is_met_by(self, actor: Actor) -> bool:
        # Only an account counts: a name from anywhere else may be anybody's.
        if actor.user_id is None:
            return False
        if self.is_group:
            return actor.is_in(self.name)
        return self.name.casefold() == actor.username.casefold()


def read_members(texts: Iterable[str]) -> tuple[ProjectMember, ...]:
    """`rita:reviewer`, `group:leads:operator`; each once."""
    members, problems = [], []
    for text in texts:
        who, colon, role = text.strip().rpartition(":")
        name = who.removeprefix(GROUP)
        if not colon or not name or role not in {each.value for each in _GIVEN}:
            roles = ", ".join(each.value for each in _GIVEN)
            problems.append(
                Problem("members", f"{text!r} is not NAME:ROLE or group:NAME:ROLE ({roles})")
            )
            continue
        members.append(ProjectMember(name=name, role=Role(role), is_group=who != name))
    names = [member.who.casefold() for member in members]
    problems += [
        Problem("members", f"{name} is named twice")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise Invalid(problems)
    return tuple(members)


def role_of(actor: Actor, members: Iterable[ProjectMember]) -> Role | None:
    """The role somebody has among the members: their own before their groups', then the highest."""
    met = [member for member in members if member.is_met_by(actor)]
    own = [member.role for member in met if not member.is_group]
    return max(own or [member.role for member in met], key=ROLES.index, default=None)
