"""What the site asks of GitLab: notes, reactions, labels, issues, merge requests, members."""

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.conf import settings

from runs.gitlab import values
from runs.gitlab.values import GitLabAccess
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
    Tracker,
    TrackerError,
    TrackerUser,
)

if TYPE_CHECKING:
    from runs.gitlab.transport import GitLabAnswer, GitLabTransport

MOST_PER_PAGE = 100
_LARGEST_NUMBER = 2**31 - 1
_REPOSITORY = re.compile(r"[\w.-]+(?:/[\w.-]+)+", re.ASCII)
_WORK_ID = re.compile(r"(?P<merge_request>mr-|MR-)?(?P<number>\d+)", re.ASCII)
# A line that begins like this is an order to GitLab, whoever wrote it into our note.
_QUICK_ACTION = re.compile(r"^(\s*)/(?=[A-Za-z])", re.MULTILINE)
_HIDDEN_SPACE = "\N{ZERO WIDTH SPACE}"
CHECK = "faber"
_STATES = {
    CheckState.PENDING: "pending",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failed",
}
_SAME_STATE = "Cannot transition status"
_REPEATED = "already been taken"


def is_on() -> bool:
    """Whether there are credentials at all."""
    return bool(settings.FABER_GITLAB_TOKEN)


def options() -> Options:
    return Options(
        allow=tuple(settings.FABER_GITLAB_ALLOW),
        poll_seconds=settings.FABER_GITLAB_POLL_SECONDS,
        webhook_secret=settings.FABER_GITLAB_WEBHOOK_SECRET,
        credentials="Set a valid FABER_GITLAB_TOKEN with the scope api.",
    )


def place_of(project: str, work_id: str) -> Place | None:
    """The issue a number names, or the merge request of `mr-` and a number."""
    named = _WORK_ID.fullmatch(work_id)
    if not is_on() or not named or not _REPOSITORY.fullmatch(project):
        return None
    number = int(named["number"])
    if not 0 < number <= _LARGEST_NUMBER:
        return None
    return Place(
        tracker=Tracker.GITLAB,
        repository=project,
        issue=number,
        is_merge_request=named["merge_request"] is not None,
    )


def client() -> "GitLabClient":
    """The client for the present settings, kept with its connections by each process."""
    return _kept(os.getpid(), _credentials())


def reader(seconds: int) -> "GitLabClient":
    """A client that only one thread uses, to read what is there within so many seconds."""
    return GitLabClient(_credentials(), seconds=seconds)


def _credentials() -> GitLabAccess:
    return GitLabAccess(url=settings.FABER_GITLAB_URL, token=settings.FABER_GITLAB_TOKEN)


@functools.lru_cache(maxsize=1)
def _kept(_process: int, credentials: GitLabAccess) -> "GitLabClient":
    return GitLabClient(credentials)


class GitLabClient:
    """Each call is made once, except that reading is tried a second time."""

    def __init__(self, credentials: GitLabAccess, *, seconds: int | None = None) -> None:
        self._credentials = credentials
        self._seconds = seconds  # for reading only

    @functools.cached_property
    def _transport(self) -> "GitLabTransport":
        # `requests` takes a while to import: only who asks GitLab pays for it.
        from runs.gitlab.transport import GitLabTransport  # noqa: PLC0415

        return GitLabTransport(self._credentials, seconds=self._seconds)

    def close(self) -> None:
        self._transport.close()

    @functools.cached_property
    def login(self) -> str:
        """The login under which this site comments, asked for once."""
        return self.whoami()

    def whoami(self) -> str:
        """That login, asked of GitLab now: whether the credentials are good."""
        return self._transport.ask("GET", "/user").read(lambda user: str(user["username"]))

    def as_posted(self, body: str) -> str:
        """Without quick actions: `/close` in what an agent wrote would close the issue."""
        return _QUICK_ACTION.sub(rf"\1{_HIDDEN_SPACE}/", body)

    def issue(self, place: Place) -> Issue:
        return self._ask("GET", place).read(values.issue)

    def user(self, login: str) -> TrackerUser:
        """Whoever has this login now."""
        answer = self._transport.ask("GET", "/users", query={"username": login})
        found = answer.read(lambda rows: [values.person(row) for row in rows])
        if not found:
            raise NotThere(f"GitLab has no account {login}.")
        return found[0]

    def comment(self, place: Place, comment_id: int) -> Comment:
        """A note as it stands there now."""
        return self._read(place, self._ask("GET", place, f"/notes/{comment_id}"))

    def create_comment(
        self, place: Place, body: str, *, check: Callable[[], None] | None = None
    ) -> Comment:
        """After `Unreachable` the note may be there: look for it before posting again."""
        answer = self._ask("POST", place, "/notes", body={"body": body}, check=check)
        return self._read(place, answer)

    def edit_comment(self, place: Place, comment_id: int, body: str) -> Comment:
        path = f"/notes/{comment_id}"
        return self._read(place, self._ask("PUT", place, path, body={"body": body}))

    def comments_of(self, place: Place, since: datetime | None = None) -> tuple[Comment, ...]:
        """All notes of people, or those changed since a moment, in the order they came."""
        query = {"sort": "asc", "order_by": "created_at"}
        path, web = f"{_path(place)}/notes", self._credentials.url
        found = [
            comment
            for answer in self._pages(path, query)
            for comment in answer.read(
                lambda rows: [values.comment(row, place, web) for row in rows if not row["system"]]
            )
        ]
        return tuple(comment for comment in found if since is None or comment.updated_at >= since)

    def comments_since(self, repo: str, since: datetime, etag: str = "") -> News | None:
        """What was written on any issue or merge request since then, oldest first.

        GitLab lists no notes of a whole project. Its events do, by the day; asked for by their
        target's type they leave out what is said in threads.
        """
        query = {"action": "commented", "sort": "desc"}
        query["after"] = f"{since - timedelta(days=2):%Y-%m-%d}"
        found: dict[int, Comment] = {}
        for answer in self._pages(f"{_project(repo)}/events", query):
            comments = answer.read(lambda rows: [self._noted(row, repo) for row in rows])
            new = [each for each in comments if each and each.created_at >= since]
            found |= {comment.id: comment for comment in new}
            if not new:  # the newest come first: the rest is older
                break
        ordered = sorted(found.values(), key=lambda comment: comment.id)
        return News(comments=tuple(ordered))

    def signals_of(self, place: Place) -> tuple[Signal, ...]:
        """The labels that were ever put on an issue, by whom; of assignments GitLab keeps none."""
        path = f"{_path(place)}/resource_label_events"
        pages = self._pages(path, {})
        return tuple(
            signal
            for answer in pages
            for signal in answer.read(lambda rows: values.signals(rows, place))
        )

    def signals_since(
        self, repo: str, since: datetime, labels: Sequence[str], etag: str = ""
    ) -> Signals | None:
        """These labels, where they were put on an open issue since then."""
        changed = {"state": "opened", "scope": "all", "updated_after": since.isoformat()}
        found: dict[int, Signal] = {}
        for label in labels:
            for answer in self._pages(f"{_project(repo)}/issues", {**changed, "labels": label}):
                numbers = answer.read(lambda rows: [int(row["iid"]) for row in rows])
                for number in numbers:
                    place = Place(tracker=Tracker.GITLAB, repository=repo, issue=number)
                    signals = self.signals_of(place)
                    found |= {each.id: each for each in signals if each.at >= since}
        return Signals(signals=tuple(found[number] for number in sorted(found)))

    def permission(self, repo: str, login: str, user_id: int | None = None) -> Permission:
        """What somebody may do, inherited roles with it; bots and whoever is gone nothing."""
        try:
            person = self._person(user_id) if user_id else self.user(login)
        except NotThere:
            return Permission.NONE
        return Permission.NONE if person.is_bot else self._role(repo, person)

    def own_permission(self, repo: str) -> Permission:
        """What the token's owner may do, who may well be a bot."""
        return self._role(repo, self._transport.ask("GET", "/user").read(values.person))

    def _role(self, repo: str, person: TrackerUser) -> Permission:
        try:
            answer = self._transport.ask("GET", f"{_project(repo)}/members/all/{person.id}")
        except NotThere:
            return Permission.NONE
        return answer.read(values.permission)

    def react(self, place: Place, comment_id: int, content: str) -> None:
        path = f"/notes/{comment_id}/award_emoji"
        try:
            self._ask("POST", place, path, body={"name": content})
        except NotThere as error:
            if _REPEATED not in str(error):  # GitLab calls a second reaction not found, too
                raise

    def add_label(self, place: Place, name: str) -> None:
        self._ask("PUT", place, body={"add_labels": name})

    def remove_label(self, place: Place, name: str) -> None:
        """Removing what is not there is fine."""
        self._ask("PUT", place, body={"remove_labels": name})

    def head_of(self, place: Place) -> str:
        """The commit that a merge request ends with now."""
        return self._ask("GET", place).read(lambda merge: str(merge["sha"]))

    def set_check(
        self, place: Place, commit: str, state: CheckState, description: str, url: str
    ) -> None:
        body = {"state": _STATES[state], "name": CHECK, "description": description}
        path = f"{_project(place.repository)}/statuses/{quote(commit, safe='')}"
        try:
            self._transport.ask("POST", path, body={**body, "target_url": url})
        except TrackerError as error:
            if _SAME_STATE not in str(error):  # GitLab takes no state a second time
                raise

    def _person(self, user_id: int) -> TrackerUser:
        return self._transport.ask("GET", f"/users/{user_id}").read(values.person)

    def _noted(self, event: Mapping[str, Any], repo: str) -> Comment | None:
        return values.noted(event, repo, self._credentials.url)

    def _read(self, place: Place, answer: "GitLabAnswer") -> Comment:
        return answer.read(lambda note: values.comment(note, place, self._credentials.url))

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator["GitLabAnswer"]:
        page = "1"
        while page:
            numbered = {**query, "per_page": str(MOST_PER_PAGE), "page": page}
            answer = self._transport.ask("GET", path, query=numbered)
            yield answer
            page = answer.next_page

    def _ask(
        self,
        method: str,
        place: Place,
        path: str = "",
        *,
        body: dict[str, str] | None = None,
        check: Callable[[], None] | None = None,
    ) -> "GitLabAnswer":
        return self._transport.ask(method, f"{_path(place)}{path}", body=body, check=check)


def _project(repo: str) -> str:
    if not _REPOSITORY.fullmatch(repo):
        raise NotThere(f"{repo!r} is not a GitLab project. Use GROUP/NAME.")
    return f"/projects/{quote(repo, safe='')}"


def _path(place: Place) -> str:
    kind = "merge_requests" if place.is_merge_request else "issues"
    return f"{_project(place.repository)}/{kind}/{place.issue}"
