"""One request to GitLab and its answer; no redirection is followed, as the token goes along."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from requests import RequestException, Response, Session
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from runs.gitlab.values import GitLabAccess
from runs.trackers import TrackerError, Unreachable
from runs.trackers.errors import clean, of_status, seconds_in

T = TypeVar("T")

TIMEOUT = 10
# GitLab limits by the minute, and says so when it does.
LEAST_WAIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabAnswer:
    """A success."""

    next_page: str
    data: Any

    def read(self, reader: Callable[[Any], T]) -> T:
        try:
            return reader(self.data)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Unreachable("GitLab returned an unexpected response.") from None


class GitLabTransport:
    """Keeps the connections."""

    def __init__(self, credentials: GitLabAccess, *, seconds: int | None = None) -> None:
        self._api = f"{credentials.url}/api/v4"
        self._seconds = seconds or TIMEOUT
        self._session = Session()
        self._session.headers.update({"PRIVATE-TOKEN": credentials.token, "User-Agent": "FABER"})
        # Only reading is tried again: GitLab may answer 502 after it stored a note.
        once_more = Retry(
            total=1,
            read=None if seconds is None else 0,  # it had its time
            redirect=False,
            backoff_factor=0.2,
            allowed_methods={"GET"},
            status_forcelist=(500, 502, 503, 504),
            raise_on_status=False,
            respect_retry_after_header=False,
        )
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=once_more))

    def close(self) -> None:
        self._session.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: dict[str, str] | None = None,
        check: Callable[[], None] | None = None,
    ) -> GitLabAnswer:
        if check:
            check()
        asked = f"{method} {path}"
        # Without the original error: its text may hold what was sent.
        try:
            response = self._session.request(
                method,
                f"{self._api}{path}",
                params=dict(query or {}),
                json=body,
                timeout=self._seconds,
                allow_redirects=False,
            )
        except RequestException as error:
            kind = type(error).__name__
            raise Unreachable(f"GitLab did not answer {asked} ({kind}).") from None
        return _answer(response, asked)


def _answer(response: Response, asked: str) -> GitLabAnswer:
    success = 200 <= response.status_code < 300
    try:
        data = json.loads(response.text or "null")
    except ValueError:
        if success:
            raise Unreachable(f"GitLab's response to {asked} can't be read.") from None
        data = None
    if not success:
        raise _error(response, data, asked)
    return GitLabAnswer(next_page=response.headers.get("x-next-page", ""), data=data)


def _error(response: Response, data: object, asked: str) -> TrackerError:
    status, reason = response.status_code, _reason(data)
    said = f"GitLab returned {status} for {asked}" + (f": {reason}" if reason else "") + "."
    wait = seconds_in(response.headers.get("retry-after"))
    limit = _limit(wait, response.headers) if status == 429 else None
    return of_status(status, said, limit=limit, retry_after=wait)


def _limit(wait: float | None, headers: Mapping[str, str]) -> float:
    if wait is not None:
        return max(wait, 1.0)
    reset = seconds_in(headers.get("ratelimit-reset"))
    return max(reset - time.time() + 1, 1.0) if reset is not None else LEAST_WAIT


def _reason(data: object) -> str:
    """GitLab says it as a text, or as texts for each field."""
    if not isinstance(data, dict):
        return ""
    said = data.get("message") or data.get("error_description") or data.get("error") or ""
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return clean(text).rstrip(".")
