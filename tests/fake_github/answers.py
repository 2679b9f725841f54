"""What the fake GitHub answers to each request of its API."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlencode

from tests.fake_github.state import InstallationToken, State, StoredComment, now, stamp, user_json

MOST_LETTERS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def refusal(status: int, message: str, **more: object) -> Reply:
    return Reply(status=status, data={"message": message, **more})


NOT_FOUND = refusal(404, "Not Found")
BAD_CREDENTIALS = refusal(401, "Bad credentials")


def answer(state: State, request: Request, url: str) -> Reply:
    """The reply; `url` is the address of the API, as it stands in links."""
    with state.lock:
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


def _page(asked: _Asked, comments: list[StoredComment]) -> Reply:
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
    issue.labels += [name for name in asked.request.data["labels"] if name not in issue.labels]
    return Reply(status=200, data=issue.as_json(asked.url)["labels"])


def _remove_label(asked: _Asked) -> Reply:
    issue = asked.state.issue(asked.repo, asked.number)
    if asked.found["label"] not in issue.labels:
        return refusal(404, "Label does not exist")
    issue.labels.remove(asked.found["label"])
    return Reply(status=200, data=issue.as_json(asked.url)["labels"])


def _route(method: str, path: str, handler: Handler) -> tuple[str, re.Pattern[str], Handler]:
    return method, re.compile(r"/repos/(?P<repo>[^/]+/[^/]+)" + path), handler


ROUTES = [
    _route("GET", r"/issues/(?P<number>\d+)", _get_issue),
    _route("GET", r"/issues/(?P<number>\d+)/comments", _comments_of_issue),
    _route("POST", r"/issues/(?P<number>\d+)/comments", _create_comment),
    _route("POST", r"/issues/(?P<number>\d+)/labels", _add_labels),
    _route("DELETE", r"/issues/(?P<number>\d+)/labels/(?P<label>[^/]+)", _remove_label),
    _route("GET", r"/issues/comments", _comments_of_repository),
    _route("GET", r"/issues/comments/(?P<number>\d+)", _get_comment),
    _route("PATCH", r"/issues/comments/(?P<number>\d+)", _edit_comment),
    _route("POST", r"/issues/comments/(?P<number>\d+)/reactions", _react),
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
