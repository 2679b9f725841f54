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


class Scope(StrEnum):
    """What a program's token is for; an agent's creates, reports, waits and reads."""

    AGENT = "agent"
    REVIEWER = "reviewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person as a channel knows them; the label is shown, the identity decides."""

    name: str
    source: Source
    method: str
    email: str = ""
    account: str = ""  # the operating-system account behind a command line
    user_id: int | None = None
    groups: frozenset[str] = frozenset()
    is_agent: bool = False

    @property
    def identity(self) -> str:
        """What makes two answers the same person's."""
        if self.user_id is not None:
            return f"user:{self.user_id}"
        return f"{self.source.value}:{self.account or self.name}"

    def has_role(self, *roles: Role) -> bool:
        return any(role.value in self.groups for role in roles)

    def describe(self) -> dict[str, object]:
        """The seeds' `provided_by`, without the time."""
        described = {
            "user": self.name,
            "source": self.source.value,
            "method": self.method,
            "email": self.email,
            "account": self.account,
        }
        return {key: value for key, value in described.items() if value}


POLICY = Actor(name="policy", source=Source.POLICY, method="allow_destructive_auto")
