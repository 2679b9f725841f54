"""One request to GitHub and its answer, with the right credentials; PyGithub is only here."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from github import Auth, Github, GithubException
from github.Requester import Requester
from jwt import PyJWTError
from requests import RequestException
from urllib3 import Retry

from runs.github.errors import of_answer
from runs.github.values import Credentials
from runs.trackers import NotThere, RefusedCredentials, TrackerError, Unreachable

T = TypeVar("T")

TIMEOUT = 10
# What GitHub asks of programs, in seconds.
PAUSE = 0.25
PAUSE_BETWEEN_WRITES = 1.0

# The name under which the requester of the token, or of the App itself, is kept.
_SITE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubAnswer:
    """A success, or "not modified"."""

    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def next_page(self) -> str:
        """The address of the next page, or nothing."""
        for link in self.headers.get("link", "").split(","):
            address, _, name = link.partition(";")
            if 'rel="next"' in name:
                return address.strip().strip("<>")
        return ""

    def read(self, reader: Callable[[Any], T]) -> T:
        try:
            return reader(self.data)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Unreachable("GitHub returned an unexpected response.") from None


class Pace:
    """Keeps two requests apart, by a clock that nobody can set: PyGithub goes by the other one.

    Whoever asked before the clock was set back would sleep until that moment comes again.
    """

    def __init__(self) -> None:
        self._next = self._next_write = time.monotonic()

    def wait_for_turn(self, method: str) -> None:
        turn = self._next if method == "GET" else max(self._next, self._next_write)
        time.sleep(max(turn - time.monotonic(), 0))

    def note(self, method: str) -> None:
        now = time.monotonic()
        self._next = now + PAUSE
        if method != "GET":
            self._next_write = now + PAUSE_BETWEEN_WRITES


class Transport:
    """Keeps the connections, and the installation's token of each repository."""

    def __init__(self, credentials: Credentials, *, seconds: int | None = None) -> None:
        """With seconds it is for reading: no pauses, which GitHub asks for between writes."""
        self._credentials = credentials
        self._seconds = seconds
        self._requesters: dict[str, Requester] = {}
        self._paces: dict[str, Pace] = {}

    def ask(
        self,
        method: str,
        path: str,
        *,
        repo: str = _SITE,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        etag: str = "",
        check: Callable[[], None] | None = None,
    ) -> GitHubAnswer:
        """One request, as the installation of that repository when the site is an App."""
        key = repo.lower() if self._credentials.app_id else _SITE
        if key not in self._requesters:
            self._requesters[key] = self._connect(key)
        pace = self._paces.setdefault(key, Pace())
        if self._seconds is None:
            pace.wait_for_turn(method)
        if check:
            check()
        try:
            return _request(self._requesters[key], method, path, query, body, etag)
        except RefusedCredentials:
            if key:  # a revoked token or another installation: look again next time
                self._requesters.pop(key, None)
            raise
        finally:
            pace.note(method)

    def close(self) -> None:
        while self._requesters:
            self._requesters.popitem()[1].close()

    def _connect(self, repo: str) -> Requester:
        if not self._credentials.app_id:
            token = self._credentials.token
            return self._requester(Auth.Token(token) if token else None)
        app = Auth.AppAuth(self._credentials.app_id, self._credentials.app_key)
        if not repo:
            return self._requester(app)
        return self._requester(app.get_installation_auth(self._installation(repo)))

    def _installation(self, repo: str) -> int:
        try:
            answer = self.ask("GET", f"/repos/{repo}/installation")
        except NotThere:
            raise RefusedCredentials(f"The GitHub App is not installed on {repo}.") from None
        return answer.read(lambda data: int(data["id"]))

    def _requester(self, auth: Auth.Auth | None) -> Requester:
        # Only reading is tried again: GitHub answers 502 after it stored a comment. No limit is
        # waited for here, since a worker that sleeps does nothing else.
        once_more = Retry(
            total=1,
            read=None if self._seconds is None else 0,  # it had its time
            backoff_factor=0.2,
            allowed_methods={"GET"},
            status_forcelist=(500, 502, 503, 504),
            raise_on_status=False,
            respect_retry_after_header=False,
        )
        return Github(
            auth=auth,
            base_url=self._credentials.api_url,
            timeout=self._seconds or TIMEOUT,
            user_agent="FABER",
            retry=once_more,
            seconds_between_requests=0,
            seconds_between_writes=0,
        ).requester


def _request(
    requester: Requester,
    method: str,
    path: str,
    query: Mapping[str, str] | None,
    body: Mapping[str, object] | None,
    etag: str,
) -> GitHubAnswer:
    headers = {"Accept": "application/vnd.github+json"}
    if etag:
        headers["If-None-Match"] = etag
    asked = f"{method} {path.partition('?')[0]}"
    # Without the original errors: their text may hold the header that was sent.
    try:
        status, received, text = requester.requestJson(
            method, path, parameters=dict(query or {}), headers=headers, input=body
        )
    except GithubException as error:  # only an installation's token is fetched in there
        raise _without_token(error.status, error.headers or {}, error.data) from None
    except PyJWTError:
        raise RefusedCredentials("FABER_GITHUB_APP_KEY is not a private key.") from None
    except RequestException as error:
        kind = type(error).__name__
        raise Unreachable(f"GitHub did not answer {asked} ({kind}).") from None
    except RuntimeError:  # PyGithub follows no redirection to another host
        raise TrackerError(f"{requester.base_url} redirects {asked} to another host.") from None
    return _answer(status, received, text, asked)


def _without_token(status: int, headers: Mapping[str, str], data: object) -> TrackerError:
    error = of_answer(status, headers, data, "the App's request for a token")
    return RefusedCredentials(str(error)) if isinstance(error, NotThere) else error


def _answer(status: int, headers: Mapping[str, str], text: str, asked: str) -> GitHubAnswer:
    success = 200 <= status < 300
    try:
        data = json.loads(text or "null")
    except ValueError:
        if success:
            raise Unreachable(f"GitHub's response to {asked} can't be read.") from None
        data = None
    if success or status == 304:
        return GitHubAnswer(status=status, headers=headers, data=data)
    raise of_answer(status, headers, data, asked)
