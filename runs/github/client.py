"""What the site asks of GitHub: comments, reactions, labels, issues, permissions."""

import functools
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from django.conf import settings

from runs.github.errors import NotThere
from runs.github.values import (
    Comment,
    Credentials,
    GitHubUser,
    Issue,
    News,
    Permission,
    Place,
)

if TYPE_CHECKING:
    from runs.github.transport import GitHubAnswer, Transport

MOST_PER_PAGE = 100
_LARGEST_NUMBER = 2**31 - 1
_REPOSITORY = re.compile(r"(?!\.{1,2}/)[\w.-]+/(?!\.{1,2}$)[\w.-]+", re.ASCII)


def is_on() -> bool:
    """Whether there are credentials at all."""
    return bool(settings.FABER_GITHUB_TOKEN or settings.FABER_GITHUB_APP_ID)


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

    def issue(self, repo: str, number: int) -> Issue:
        return self._ask("GET", repo, f"/issues/{number}").read(Issue.read)

    def user(self, login: str) -> GitHubUser:
        """Whoever has this login now."""
        return self._transport.ask("GET", f"/users/{quote(login, safe='')}").read(GitHubUser.read)

    def comment(self, repo: str, comment_id: int) -> Comment:
        """A comment as it stands there now."""
        return self._ask("GET", repo, f"/issues/comments/{comment_id}").read(Comment.read)

    def create_comment(
        self, repo: str, issue: int, body: str, *, check: Callable[[], None] | None = None
    ) -> Comment:
        """After `Unreachable` the comment may be there: look for it before posting again.

        The check is made last of all and may raise; requests are kept apart by up to a second.
        """
        path = f"/issues/{issue}/comments"
        answer = self._ask("POST", repo, path, body={"body": body}, check=check)
        return answer.read(Comment.read)

    def edit_comment(self, repo: str, comment_id: int, body: str) -> Comment:
        answer = self._ask("PATCH", repo, f"/issues/comments/{comment_id}", body={"body": body})
        return answer.read(Comment.read)

    def comments_of(
        self, repo: str, issue: int, since: datetime | None = None
    ) -> tuple[Comment, ...]:
        """All comments of an issue, or those changed since a moment, in the order they came."""
        query = {"per_page": str(MOST_PER_PAGE)} | _since(since)
        answer = self._ask("GET", repo, f"/issues/{issue}/comments", query=query)
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

    def permission(self, repo: str, login: str, user_id: int | None = None) -> Permission:
        """What somebody may do; none for whoever took over the login of the person meant."""
        try:
            answer = self._ask("GET", repo, f"/collaborators/{quote(login, safe='')}/permission")
        except NotThere:
            return Permission.NONE
        if user_id and answer.read(lambda data: GitHubUser.read(data["user"])).id != user_id:
            return Permission.NONE
        return answer.read(Permission.read)

    def react(self, repo: str, comment_id: int, content: str) -> None:
        path = f"/issues/comments/{comment_id}/reactions"
        self._ask("POST", repo, path, body={"content": content})

    def add_label(self, repo: str, issue: int, name: str) -> None:
        self._ask("POST", repo, f"/issues/{issue}/labels", body={"labels": [name]})

    def remove_label(self, repo: str, issue: int, name: str) -> None:
        """Removing what is not there is fine."""
        try:
            self._ask("DELETE", repo, f"/issues/{issue}/labels/{quote(name, safe='')}")
        except NotThere:
            return

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
    return answer.read(lambda rows: [Comment.read(row) for row in rows])
