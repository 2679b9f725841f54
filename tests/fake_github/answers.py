"""What the fake GitHub answers to each request of its API."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import unquote, urlencode

from tests.fake_github import apps
from tests.fake_github.replies import NOT_FOUND, Reply, Request, refusal
from tests.fake_github.state import (
    InstallationToken,
    State,
    StoredComment,
    StoredEvent,
    StoredStatus,
    now,
    stamp,
    user_json,
)

MOST_LETTERS = 65536
MOST_LETTERS_OF_STATUS = 140


BAD_CREDENTIALS = refusal(401, "Bad credentials")


def answer(state: State, request: Request, url: str) -> Reply:
    """The reply; `url` is the address of the API, as it stands in links."""
    with state.lock:
        if made := apps.answer(state, request, url):
            return made
        if request.path == "/app" or request.path.endswith(("/installation", "/access_tokens")):
            return _as_app(state, request)
        login = _login(state, request)
        if login is None:
            return BAD_CREDENTIALS
        if request.path == "/user":
            # An App has no account.
            return _user(state, login) if "[" not in login else _NOT_FOR_APPS
        if request.path.startswith("/users/"):
            return _user(state, unquote(request.path.removeprefix("/users/")))
        for method, pattern, handler in ROUTES:
            match = pattern.fullmatch(request.path)
            if method == request.method and match:
                found = {name: unquote(value) for name, value in match.groupdict().items()}
                return _in_repository(handler, state, request, url, login, found)
        return NOT_FOUND


def _user(state: State, login: str) -> Reply:
    number = state.users.get(login.lower())
    return Reply(status=200, data=user_json(login, number)) if number else NOT_FOUND


_NOT_FOR_APPS = refusal(403, "Resource not accessible by integration")


def _login(state: State, request: Request) -> str | None:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind not in ("token", "Bearer"):
        return None
    made = state.installation_tokens.get(token)
    if made is not None:
        inside = [
            name for name, number in state.installations.items() if number == made.installation
        ]
        repo = "/".join(request.path.split("/")[2:4]).lower()
        valid = made.expires > time.time() and repo in inside
        return f"{state.app_slug}[bot]" if valid else None
    return state.tokens.get(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request inside a repository that exists."""

    state: State
    request: Request
    url: str
    login: str
    repo: str
    found: dict[str, str]

    @property
    def number(self) -> int:
        return int(self.found["number"])


Handler = Callable[[_Asked], Reply]


def _in_repository(
    handler: Handler, state: State, request: Request, url: str, login: str, found: dict[str, str]
) -> Reply:
    repo = found.pop("repo")
    if repo.lower() not in state.repositories:
        return NOT_FOUND
    asked = _Asked(state=state, request=request, url=url, login=login, repo=repo, found=found)
    try:
        return handler(asked)
    except KeyError:  # no such issue or comment
        return NOT_FOUND


def _get_issue(asked: _Asked) -> Reply:
    return Reply(status=200, data=asked.state.issue(asked.repo, asked.number).as_json(asked.url))


def _create_comment(asked: _Asked) -> Reply:
    body = asked.request.data["body"]
    asked.state.issue(asked.repo, asked.number)
    if problem := _wrong_body(body):
        return problem
    made = asked.state.comment(asked.repo, asked.number, body, author=asked.login)
    return Reply(status=201, data=made.as_json(asked.url))


def _get_comment(asked: _Asked) -> Reply:
    return Reply(status=200, data=_comment(asked).as_json(asked.url))


def _edit_comment(asked: _Asked) -> Reply:
    body = asked.request.data["body"]
    _comment(asked)
    return _wrong_body(body) or Reply(
        status=200, data=asked.state.edit(asked.number, body).as_json(asked.url)
    )


def _wrong_body(body: str) -> Reply | None:
    if 0 < len(body) <= MOST_LETTERS:
        return None
    said = "Body is too long (maximum is 65536 characters)" if body else "Body can't be blank"
    return refusal(422, "Validation Failed", errors=[{"field": "body", "message": said}])


def _comments_of_issue(asked: _Asked) -> Reply:
    asked.state.issue(asked.repo, asked.number)
    return _page(asked, _changed_since(asked, asked.state.comments(asked.repo, asked.number)))


def _comments_of_repository(asked: _Asked) -> Reply:
    comments = _changed_since(asked, asked.state.comments(asked.repo))
    if order := asked.request.query.get("sort"):
        comments.sort(key=lambda comment: (getattr(comment, f"{order}_at"), comment.id))
        if asked.request.query.get("direction", "desc") == "desc":
            comments.reverse()
    return _page(asked, comments)


def _changed_since(asked: _Asked, comments: list[StoredComment]) -> list[StoredComment]:
    if "since" not in asked.request.query:
        return comments
    since = datetime.fromisoformat(asked.request.query["since"])
    return [comment for comment in comments if comment.updated_at >= since]


def _events_of_issue(asked: _Asked) -> Reply:
    asked.state.issue(asked.repo, asked.number)
    done = [each for each in _events(asked) if each.issue == asked.number]
    return _page(asked, done)


def _events_of_repository(asked: _Asked) -> Reply:
    """The newest first, each with its issue."""
    done = _events(asked)[::-1]
    page = _page(asked, done)
    issues = {each.id: each.issue for each in done}
    rows = [
        {**row, "issue": asked.state.issue(asked.repo, issues[row["id"]]).as_json(asked.url)}
        for row in page.data
    ]
    return Reply(status=page.status, data=rows, headers=page.headers)


def _events(asked: _Asked) -> list[StoredEvent]:
    return [each for each in asked.state.events if each.repo.lower() == asked.repo.lower()]


def _set_status(asked: _Asked) -> Reply:
    said, sha = asked.request.data, asked.found["sha"]
    known = {p.sha for (repo, _), p in asked.state.pulls.items() if repo == asked.repo.lower()}
    if sha not in known | asked.state.old_commits:
        return refusal(422, f"No commit found for SHA: {sha}")
    if len(said["description"]) > MOST_LETTERS_OF_STATUS:
        return refusal(422, "Validation Failed")
    made = StoredStatus(
        repo=asked.repo,
        sha=sha,
        context=said["context"],
        state=said["state"],
        description=said["description"],
        target_url=said["target_url"],
        author=asked.login,
    )
    asked.state.statuses.append(made)
    return Reply(status=201, data={"state": made.state, "context": made.context})


def _page(asked: _Asked, comments: Sequence[StoredComment | StoredEvent]) -> Reply:
    query = asked.request.query
    size = min(int(query.get("per_page", 30)), 100)
    page = int(query.get("page", 1))
    last = max(-(-len(comments) // size), 1)
    shown = comments[(page - 1) * size : page * size]
    numbers = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    links = [
        f'<{asked.url}{asked.request.path}?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number in numbers.items()
        if 1 <= number <= last and number != page
    ]
    headers = {"Link": ", ".join(links)} if links else {}
    return Reply(
        status=200, data=[comment.as_json(asked.url) for comment in shown], headers=headers
    )


def _comment(asked: _Asked) -> StoredComment:
    found = asked.state.by_id[asked.number]
    if found.repo.lower() != asked.repo.lower():
        raise KeyError(asked.number)
    return found


def _react(asked: _Asked) -> Reply:
    reactions = _comment(asked).reactions
    given = (asked.login, asked.request.data["content"])
    if given in reactions:
        return Reply(status=200, data={"content": given[1]})
    reactions.append(given)
    return Reply(status=201, data={"content": given[1]})


def _permission(asked: _Asked) -> Reply:
    login = asked.found["login"]
    if login.lower() not in asked.state.users:
        return refusal(404, f"{login} is not a user")
    # Anyone may read a public repository.
    old, role = asked.state.roles.get((asked.repo.lower(), login.lower()), ("read", "read"))
    user = user_json(login, asked.state.users[login.lower()])
    data = {"permission": old, "role_name": role, "user": user}
    return Reply(status=200, data=data)


def _add_labels(asked: _Asked) -> Reply:
    issue = asked.state.issue(asked.repo, asked.number)
    for name in asked.request.data["labels"]:
        if name not in issue.labels:
            asked.state.label(asked.repo, asked.number, name, author=asked.login)
    return Reply(status=200, data=issue.as_json(asked.url)["labels"])


def _remove_label(asked: _Asked) -> Reply:
    issue = asked.state.issue(asked.repo, asked.number)
    if asked.found["label"] not in issue.labels:
        return refusal(404, "Label does not exist")
    asked.state.unlabel(asked.repo, asked.number, asked.found["label"], author=asked.login)
    return Reply(status=200, data=issue.as_json(asked.url)["labels"])


def _pulls(asked: _Asked) -> Reply:
    wanted = asked.request.query.get("head", "").rpartition(":")[2]
    found = [
        pull.as_json(asked.url)
        for (repo, _), pull in asked.state.pulls.items()
        if repo == asked.repo.lower() and wanted in ("", pull.head)
    ]
    return Reply(status=200, data=found)


def _get_pull(asked: _Asked) -> Reply:
    pull = asked.state.pulls[asked.repo.lower(), asked.number]
    return Reply(status=200, data=pull.as_json(asked.url))


def _create_pull(asked: _Asked) -> Reply:
    said = asked.request.data
    made = asked.state.add_pull(
        asked.repo, head=said["head"], sha=said["sha"], title=said["title"], body=said["body"]
    )
    return Reply(status=201, data=made.as_json(asked.url))


def _route(method: str, path: str, handler: Handler) -> tuple[str, re.Pattern[str], Handler]:
    return method, re.compile(r"/repos/(?P<repo>[^/]+/[^/]+)" + path), handler


ROUTES = [
    _route("GET", r"/issues/(?P<number>\d+)", _get_issue),
    _route("GET", r"/issues/(?P<number>\d+)/comments", _comments_of_issue),
    _route("POST", r"/issues/(?P<number>\d+)/comments", _create_comment),
    _route("POST", r"/issues/(?P<number>\d+)/labels", _add_labels),
    _route("DELETE", r"/issues/(?P<number>\d+)/labels/(?P<label>[^/]+)", _remove_label),
    _route("GET", r"/issues/(?P<number>\d+)/events", _events_of_issue),
    _route("GET", r"/issues/events", _events_of_repository),
    _route("POST", r"/statuses/(?P<sha>[0-9a-f]+)", _set_status),
    _route("GET", r"/issues/comments", _comments_of_repository),
    _route("GET", r"/issues/comments/(?P<number>\d+)", _get_comment),
    _route("PATCH", r"/issues/comments/(?P<number>\d+)", _edit_comment),
    _route("POST", r"/issues/comments/(?P<number>\d+)/reactions", _react),
    _route("GET", r"/pulls", _pulls),
    _route("POST", r"/pulls", _create_pull),
    _route("GET", r"/pulls/(?P<number>\d+)", _get_pull),
    _route("GET", r"/collaborators/(?P<login>[^/]*)/permission", _permission),
]


def _as_app(state: State, request: Request) -> Reply:
    if not _is_app(state, request):
        return refusal(401, "A JSON web token could not be decoded")
    if request.path == "/app":
        return Reply(status=200, data={"id": int(state.app_id), "slug": state.app_slug})
    parts = request.path.split("/")
    if request.method == "GET":
        number = state.installations.get("/".join(parts[2:4]).lower())
        return Reply(status=200, data={"id": number}) if number else NOT_FOUND
    number = int(parts[3])
    if number not in state.installations.values():
        return NOT_FOUND
    token = f"ghs_installation{number}token{len(state.installation_tokens)}"
    expires = now() + timedelta(seconds=state.token_seconds)
    state.installation_tokens[token] = InstallationToken(
        installation=number, expires=expires.timestamp()
    )
    return Reply(status=201, data={"token": token, "expires_at": stamp(expires)})


def _is_app(state: State, request: Request) -> bool:
    import jwt

    kind, _, token = request.headers.get("authorization", "").partition(" ")
    try:
        jwt.decode(token, state.app_public_key, algorithms=["RS256"], issuer=state.app_id)
    except jwt.PyJWTError:
        return False
    return kind == "Bearer"
