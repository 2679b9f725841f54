"""Who does something, through which channel, and what they may do there."""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    WEB = "web"
    CLI = "cli"
    ISSUE_COMMENT = "issue_comment"
    API = "api"
    MCP = "mcp"
    PARALLEL_COORDINATION = "parallel_coordination"
    POLICY = "policy"

    @property
    def label(self) -> str:
        """As a list of channels names it."""
        return _CHANNELS[self][0]

    @property
    def where(self) -> str:
        """As a sentence about an answer ends."""
        return _CHANNELS[self][1]


_CHANNELS = {
    Source.WEB: ("Browser", "in the browser"),
    Source.CLI: ("Command line", "on the command line"),
    Source.ISSUE_COMMENT: ("Issue comment", "in an issue comment"),
    Source.API: ("API", "through the API"),
    Source.MCP: ("MCP", "through MCP"),
    Source.PARALLEL_COORDINATION: ("Batch", "for a batch"),
    Source.POLICY: ("Policy", "by policy"),
}


class Role(StrEnum):
    VIEWER = "viewer"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    ADMIN = "admin"


ROLES = tuple(Role)  # each may do what those before it may


class Scope(StrEnum):
    """What a program's token is for; an agent's creates, reports, waits and reads."""

    AGENT = "agent"
    REVIEWER = "reviewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Somebody who is away, for whom another decides meanwhile."""

    name: str
    user_id: int
    groups: frozenset[str] = frozenset()
    sees_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person as a channel knows them; the label is shown, the identity decides."""

    name: str
    source: Source
    method: str
    email: str = ""
    username: str = ""  # of the account, when the channel knows it to be theirs
    account: str = ""  # behind a command line the operating system's, behind a comment the site's
    user_id: int | None = None
    namesake_id: int | None = None  # an account whose name is theirs too: it only takes rights away
    groups: frozenset[str] = frozenset()
    lent: frozenset[str] = frozenset()  # of these what the channel gives, and not their account
    is_agent: bool = False
    sees_all: bool = False  # who operates the site, whatever less a token of theirs may do
    token: str = ""  # the name of the token a program came with
    scope: Scope | None = None  # of that token
    projects: frozenset[int] | None = None  # the only ones a token is for; None: not bound
    rule: tuple[str, int] | None = None  # the standing rule that answers, and its version
    stands_in_for: tuple[Absent, ...] = ()

    @property
    def identity(self) -> str:
        """What makes two answers the same person's."""
        known = self.namesake_id if self.user_id is None else self.user_id
        if known is not None:
            return f"user:{known}"
        return f"{self.source.value}:{self.account or self.name}"

    def is_in(self, group: str) -> bool:
        """Whether their own account is: what a channel lends opens no door with a name on it."""
        return group in self.groups - self.lent

    def has_role(self, *roles: Role) -> bool:
        return any(role.value in self.groups for role in roles)

    def describe(self) -> dict[str, object]:
        """The seeds' `provided_by`, without the time."""
        described: dict[str, object] = {
            "user": self.name,
            "source": self.source.value,
            "method": self.method,
            "email": self.email,
            "account": self.account,
            "token": self.token,
            "rule": self.rule and {"name": self.rule[0], "version": self.rule[1]},
        }
        return {key: value for key, value in described.items() if value}


# What a workflow lets happen without anybody: at once, or when nobody decided in time.
POLICY = Actor(name="policy", source=Source.POLICY, method="allow_destructive_auto")
TIMEOUT = Actor(name="policy", source=Source.POLICY, method="timeout")
