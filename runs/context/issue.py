"""Reads a run's issue from its tracker: every comment, with who wrote it and what they may do."""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import closing

from runs.context.budget import TRUSTED
from runs.context.gathering import Json, SourceRead, found, note, nothing
from runs.domain.values.events import timestamp
from runs.domain.values.text import clean, one_line
from runs.trackers import (
    GHOST,
    Comment,
    Issue,
    NotThere,
    Permission,
    Place,
    RefusedCredentials,
    TrackerClient,
    TrackerError,
)

SECONDS = 4
# Who may write is asked person by person, so it must not take what the words themselves need.
PERMISSION_SECONDS = 2.5
MOST_PEOPLE = 50
UNKNOWN = "unknown"
UNTRUSTED = "untrusted"


def fetch(client: TrackerClient, place: Place) -> SourceRead:
    """The issue as it is now; refused credentials are an error, anything else a note."""
    with closing(client):
        return _fetch(client, place, until=time.monotonic() + PERMISSION_SECONDS)


def _fetch(client: TrackerClient, place: Place, until: float) -> SourceRead:
    try:
        issue = client.issue(place)
        comments = client.comments_of(place)
    except NotThere as error:
        return nothing("issue", "missing", "warning", str(error))
    except RefusedCredentials as error:
        return nothing("issue", "error", "error", str(error))
    except TrackerError as error:
        return nothing("issue", "error", "warning", str(error))
    permissions, notes = _permissions(client, place.repository, _people(issue, comments), until)
    value = _value(issue, comments, lambda login: permissions.get(login.lower(), UNKNOWN))
    return found(value, _raw(issue, comments), notes=tuple(notes))


def _people(issue: Issue, comments: Iterable[Comment]) -> list[str]:
    """Everybody once: the author, then who spoke last."""
    spoke = [comment.author for comment in comments]
    return list(dict.fromkeys(login.lower() for login in (issue.author, *reversed(spoke))))


def _permissions(
    client: TrackerClient, repository: str, people: list[str], until: float
) -> tuple[dict[str, str], list[Json]]:
    known = {GHOST: Permission.NONE.value}
    asked = [login for login in people if login not in known]
    for number, login in enumerate(asked):
        if number == MOST_PEOPLE or time.monotonic() >= until:
            return known, [_unknown(len(asked) - number)]
        try:
            known[login] = client.permission(repository, login).value
        except TrackerError as error:
            # A token that may only read is refused this for everybody.
            return known, [_unknown(len(asked) - number, f" {error}")]
    return known, []


def _unknown(people: int, why: str = "") -> Json:
    who = "1 person" if people == 1 else f"{people} people"
    message = f"The permission of {who} is unknown; their comments count as untrusted.{why}"
    return note("issue", "warning", message)


def _value(issue: Issue, comments: Iterable[Comment], permission: Callable[[str], str]) -> Json:
    return {
        "number": issue.number,
        "title": one_line(issue.title),
        "body": clean(issue.body),
        "labels": [one_line(label) for label in issue.labels],
        "state": issue.state,
        "url": issue.url,
        "author": issue.author,
        "permission": permission(issue.author),
        "comments": [_comment(comment, permission(comment.author)) for comment in comments],
    }


def _comment(comment: Comment, permission: str) -> Json:
    return {
        "id": comment.id,
        "author": comment.author,
        "permission": permission,
        "trust": TRUSTED if permission in _WRITERS else UNTRUSTED,
        "created_at": timestamp(comment.created_at),
        "body": clean(comment.body),
    }


_WRITERS = frozenset(each.value for each in Permission if each.can_write)


def _raw(issue: Issue, comments: Iterable[Comment]) -> bytes:
    of_issue = [issue.number, issue.title, issue.body, issue.author, issue.labels, issue.state]
    said = [[each.id, each.author, timestamp(each.updated_at), each.body] for each in comments]
    return json.dumps([of_issue, said], ensure_ascii=False).encode(errors="replace")
