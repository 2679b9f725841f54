"""The few GitHub calls, typed; PyGithub stays inside, and what is said there is a channel's."""

from runs.github.client import Client, client, is_on, options, place_of, reader
from runs.github.values import Credentials

__all__ = ["Client", "Credentials", "client", "is_on", "options", "place_of", "reader"]
