"""The few GitHub calls, typed; PyGithub stays inside, and what is said there is a channel's."""

from runs.github.client import Client, client, is_on, place_of, reader
from runs.github.errors import GitHubError, NotThere, RefusedCredentials, Slowed, Unreachable
from runs.github.values import (
    GHOST,
    Comment,
    Credentials,
    GitHubUser,
    Issue,
    News,
    Permission,
    Place,
)

__all__ = [
    "GHOST",
    "Client",
    "Comment",
    "Credentials",
    "GitHubError",
    "GitHubUser",
    "Issue",
    "News",
    "NotThere",
    "Permission",
    "Place",
    "RefusedCredentials",
    "Slowed",
    "Unreachable",
    "client",
    "is_on",
    "place_of",
    "reader",
]
