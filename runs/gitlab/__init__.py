"""The few GitLab calls, typed; what is said there is a channel's."""

from runs.gitlab.client import GitLabClient, client, is_on, options, place_of, reader
from runs.gitlab.values import GitLabAccess

__all__ = ["GitLabAccess", "GitLabClient", "client", "is_on", "options", "place_of", "reader"]
