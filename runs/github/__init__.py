"""The few GitHub calls, typed; PyGithub stays inside."""

from runs.github.client import Client, client, is_on
from runs.github.errors import GitHubError, NotThere, RefusedCredentials, Slowed, Unreachable
from runs.github.values import Comment, Credentials, Issue, News, Permission

__all__ = [
    "Client",
    "Comment",
    "Credentials",
    "GitHubError",
    "Issue",
    "News",
    "NotThere",
    "Permission",
    "RefusedCredentials",
    "Slowed",
    "Unreachable",
    "client",
    "is_on",
]
