"""What the site asks of GitHub: comments, reactions, labels, issues, permissions."""

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from django.conf import settings

from runs.github import kept_app, values
from runs.github.values import Credentials
from runs.trackers import (
    CheckState,
    Comment,
    Issue,
    News,
    NotThere,
    Options,
    Permission,
    Place,
    Signal,
    Signals,
    TrackerUser,
)

if TYPE_CHECKING:
    from runs.github.transport import GitHubAnswer, Transport

MOST_PER_PAGE = 100
CHECK = "faber"  # what branch protection calls it
_LARGEST_NUMBER = 2**31 - 1
_REPOSITORY = re.compile(r"(?!\.{1,2}/)[\w.-]+/(?!\.{1,2}$)[\w.-]+", re.ASCII)


def is_on() -> bool:
    """Whether there are credentials at all."""
    return _is_set() or kept_app.kept() is not None


def _is_set() -> bool:
    """By whoever starts the site; that goes before an App made on its pages."""
    return bool(settings.FABER_GITHUB_TOKEN or settings.FABER_GITHUB_APP_ID)


def options() -> Options:
    app = None if settings.FABER_GITHUB_WEBHOOK_SECRET else kept_app.kept()
    return Options(
        allow=tuple(settings.FABER_GITHUB_ALLOW),
        poll_seconds=settings.FABER_GITHUB_POLL_SECONDS,
        webhook_secret=app.webhook_secret if app else settings.FABER_GITHUB_WEBHOOK_SECRET,
        credentials="Set a valid FABER_GITHUB_TOKEN, or the App's id and key.",
    )


def place_of(project: str, work_id: str) -> Place | None:
    """The issue that a work id names; None where GitHub is off or it names none."""
    if not is_on() or not work_id.isdecimal():
        return None
    number = int(work_id)
    if not _REPOSITORY.fullmatch(project) or not 0 < number <= _LARGEST_NUMBER:
        return None
    return Place(repository=project, issue=number)


def client() -> "Client":
    """The client for the present settings, kept with its connections by each process."""
    return _kept(os.getpid(), _credentials())


def reader(seconds: int) -> "Client":
    """A client that only one thread uses, to read what is there within so many seconds."""
    return Client(_credentials(), seconds=seconds)


def _credentials() -> Credentials:
    if not _is_set() and (app := kept_app.kept()):
        return Credentials(api_url=app.api_url, app_id=app.app_id, app_key=app.key)
    return Credentials(
        api_url=settings.FABER_GITHUB_API_URL,
        token=settings.FABER_GITHUB_TOKEN,
        app_id=settings.FABER_GITHUB_APP_ID,
        app_key=settings.FABER_GITHUB_APP_KEY,
    )


@functools.lru_cache(maxsize=1)
def _kept(_process: int, credentials: Credentials) -> "Client":
    return Client(credentials)


class Client:
    """Each call is made once, except that reading is tried a second time."""

    def __init__(self, credentials: Credentials, *, seconds: int | None = None) -> None:
        self._credentials = credentials
        self._seconds = seconds  # for reading only

    @functools.cached_property
    def _transport(self) -> "Transport":
        # PyGithub takes a second and 40 MB to import: only who asks GitHub pays for it.
        from runs.github.transport import Transport  # noqa: PLC0415

        return Transport(self._credentials, seconds=self._seconds)

    def close(self) -> None:
        self._transport.close()

    @functools.cached_property
    def login(self) -> str:
        """The login under which this site comments, asked for once."""
        return self.whoami()

    def whoami(self) -> str:
        """That login, asked of GitHub now: whether the credentials are good."""
        if self._credentials.app_id:
            return self._transport.ask("GET", "/app").read(lambda app: f"{app['slug']}[bot]")
        return self._transport.ask("GET", "/user").read(lambda user: str(user["login"]))

    def as_posted(self, body: str) -> str:
        """What has to be sent so that a comment shows this and does nothing."""
        return body

    def issue(self, place: Place) -> Issue:
        return self._ask("GET", place.repository, f"/issues/{place.issue}").read(values.issue)

    def user(self, login: str) -> TrackerUser:
        """Whoever has this login now."""
        return self._transport.ask("GET", f"/users/{quote(login, safe='')}").read(values.person)

    def comment(self, place: Place, comment_id: int) -> Comment:
        """A comment as it stands there now, on whichever issue of the repository."""
        return self._ask("GET", place.repository, f"/issues/comments/{comment_id}").read(
            values.comment
        )

    def create_comment(
        self, place: Place, body: str, *, check: Callable[[], None] | None = None
    ) -> Comment:
        """After `Unreachable` the comment may be there: look for it before posting again.

        The check is made last of all and may raise; requests are kept apart by up to a second.
        """
        path = f"/issues/{place.issue}/comments"
        answer = self._ask("POST", place.repository, path, body={"body": body}, check=check)
        return answer.read(values.comment)

    def edit_comment(self, place: Place, comment_id: int, body: str) -> Comment:
        path = f"/issues/comments/{comment_id}"
        answer = self._ask("PATCH", place.repository, path, body={"body": body})
        return answer.read(values.comment)

    def comments_of(self, place: Place, since: datetime | None = None) -> tuple[Comment, ...]:
        """All comments of an issue, or those changed since a moment, in the order they came."""
        query = {"per_page": str(MOST_PER_PAGE)} | _since(since)
        repo = place.repository
        answer = self._ask("GET", repo, f"/issues/{place.issue}/comments", query=query)
        comments = _comments(answer)
        while answer.next_page:
            answer = self._transport.ask("GET", answer.next_page, repo=repo)
            comments += _comments(answer)
        return tuple(comments)

    def comments_since(self, repo: str, since: datetime, etag: str = "") -> News | None:
        """What was written or changed on any issue in that second or later; None: as before.

        The pages are followed by date, not by number: an edit in between moves the comments
        after it to an earlier page, past the reader.
        """
        found: dict[int, Comment] = {}
        start, page = since, 1
        answer = self._news(repo, start, page, etag)
        if answer.status == 304:
            return None
        # An ETag speaks for its page alone: after a full one, news come on the next.
        etag = "" if answer.next_page else answer.headers.get("etag", "")
        while True:
            comments = _comments(answer)
            found |= {comment.id: comment for comment in comments}
            if not answer.next_page:
                break
            latest = comments[-1].updated_at if comments else start
            start, page = (latest, 1) if latest > start else (start, page + 1)
            answer = self._news(repo, start, page)
        ordered = sorted(found.values(), key=lambda comment: (comment.updated_at, comment.id))
        return News(comments=tuple(ordered), etag=etag)

    def signals_of(self, place: Place) -> tuple[Signal, ...]:
        """The labels that were ever put on an issue, and whom it was assigned to, by whom."""
        path, query = f"/issues/{place.issue}/events", {"per_page": str(MOST_PER_PAGE)}
        answer = self._ask("GET", place.repository, path, query=query)
        found = answer.read(lambda rows: values.signals(rows, place))
        while answer.next_page:
            answer = self._transport.ask("GET", answer.next_page, repo=place.repository)
            found += answer.read(lambda rows: values.signals(rows, place))
        return tuple(found)

    def signals_since(
        self, repo: str, since: datetime, labels: Sequence[str], etag: str = ""
    ) -> Signals | None:
        """What was done to any issue since then, whatever the label; None: as before."""
        query = {"per_page": str(MOST_PER_PAGE)}
        answer = self._ask("GET", repo, "/issues/events", query=query, etag=etag)
        if answer.status == 304:
            return None
        # The newest come first, so that the first page changes whenever something is done.
        etag = answer.headers.get("etag", "")
        found: dict[int, Signal] = {}
        while True:
            rows = answer.read(lambda rows: [values.event_at(row) for row in rows])
            new = answer.read(lambda rows: values.signals(rows, repo))
            found |= {signal.id: signal for signal in new if signal.at >= since}
            if not answer.next_page or not rows or min(rows) < since:
                break
            answer = self._transport.ask("GET", answer.next_page, repo=repo)
        return Signals(signals=tuple(found[number] for number in sorted(found)), etag=etag)

    def permission(self, repo: str, login: str, user_id: int | None = None) -> Permission:
        """What somebody may do; none for whoever took over the login of the person meant."""
        try:
            answer = self._ask("GET", repo, f"/collaborators/{quote(login, safe='')}/permission")
        except NotThere:
            return Permission.NONE
        if user_id and answer.read(lambda data: values.person(data["user"])).id != user_id:
            return Permission.NONE
        return answer.read(values.permission)

    def own_permission(self, repo: str) -> Permission:
        """What the token's owner may do; what an App may is not asked for."""
        if self._credentials.app_id:
            return Permission.WRITE
        return self.permission(repo, self.login)

    def react(self, place: Place, comment_id: int, content: str) -> None:
        path = f"/issues/comments/{comment_id}/reactions"
        self._ask("POST", place.repository, path, body={"content": content})

    def add_label(self, place: Place, name: str) -> None:
        path = f"/issues/{place.issue}/labels"
        self._ask("POST", place.repository, path, body={"labels": [name]})

    def remove_label(self, place: Place, name: str) -> None:
        """Removing what is not there is fine."""
        path = f"/issues/{place.issue}/labels/{quote(name, safe='')}"
        try:
            self._ask("DELETE", place.repository, path)
        except NotThere:
            return

    def head_of(self, place: Place) -> str:
        """The commit that a pull request ends with now."""
        answer = self._ask("GET", place.repository, f"/pulls/{place.issue}")
        return answer.read(lambda pull: str(pull["head"]["sha"]))

    def set_check(
        self, place: Place, commit: str, state: CheckState, description: str, url: str
    ) -> None:
        """As a commit status, which a token may set as well as an App."""
        body = {"state": state.value, "context": CHECK, "description": description}
        path = f"/statuses/{quote(commit, safe='')}"
        self._ask("POST", place.repository, path, body={**body, "target_url": url})

    def _news(self, repo: str, since: datetime, page: int, etag: str = "") -> "GitHubAnswer":
        query = {"sort": "updated", "direction": "asc", "per_page": str(MOST_PER_PAGE)}
        query |= _since(since) | ({"page": str(page)} if page > 1 else {})
        return self._ask("GET", repo, "/issues/comments", query=query, etag=etag)

    def _ask(
        self,
        method: str,
        repo: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        etag: str = "",
        check: Callable[[], None] | None = None,
    ) -> "GitHubAnswer":
        if not _REPOSITORY.fullmatch(repo):
            raise NotThere(f"{repo!r} is not a GitHub repository. Use OWNER/NAME.")
        address = f"/repos/{repo}{path}"
        return self._transport.ask(
            method, address, repo=repo, query=query, body=body, etag=etag, check=check
        )


def _since(moment: datetime | None) -> dict[str, str]:
    # GitHub reads whole seconds, in UTC.
    return {"since": f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"} if moment else {}


def _comments(answer: "GitHubAnswer") -> list[Comment]:
    return answer.read(lambda rows: [values.comment(row) for row in rows])
