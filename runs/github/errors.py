"""What goes wrong between the site and GitHub, as sentences that never hold a secret."""

import re
import time
from collections.abc import Mapping

from runs.domain.values.errors import FaberError

# GitHub asks for at least a minute when it does not say how long.
LEAST_WAIT = 60.0
LONGEST_REASON = 300

_TOKEN = re.compile(r"(gh[a-z]_|github_pat_)\w+|eyJ[\w-]+\.[\w-]+\.[\w-]+")
_LIMIT = re.compile(
    r"rate limit|abuse detection|retry your request again later|wait a few minutes", re.IGNORECASE
)


class GitHubError(FaberError):
    """GitHub does not accept this."""

    code = "github"

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedCredentials(GitHubError):
    """GitHub refuses the token or the App."""

    code = "github_refused"


class NotThere(GitHubError):
    """GitHub has no such thing, or does not show it to this token."""

    code = "github_not_there"


class Slowed(GitHubError):
    """GitHub asks to wait; `retry_after` says for how many seconds."""

    code = "github_slowed"


class Unreachable(GitHubError):
    """GitHub did not answer; it may have done what was asked."""

    code = "github_unreachable"


def of_answer(status: int, headers: Mapping[str, str], data: object, asked: str) -> GitHubError:
    """The error behind an answer that is not a success; header names in small letters."""
    reason = _reason(data)
    said = f"GitHub returned {status} for {asked}" + (f": {reason}" if reason else "") + "."
    if status == 429 or (status == 403 and _is_limit(headers, reason)):
        wait = _wait(headers)
        return Slowed(f"{said} Retry after {wait:.0f} seconds.", retry_after=wait)
    if status in (401, 403):
        return RefusedCredentials(said)
    if status in (404, 410):
        return NotThere(said)
    if status in (301, 302, 307, 308):
        return NotThere(f"{said} The repository has moved. Use its new name.")
    if status >= 500:
        return Unreachable(said, retry_after=_seconds(headers.get("retry-after")))
    return GitHubError(said)


def clean(text: str) -> str:
    """One short line without anything that looks like a token."""
    line = " ".join(_TOKEN.sub("…", text).split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _reason(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    details = data.get("errors")
    parts = [data, *(details if isinstance(details, list) else ())]
    found = [part.get("message") for part in parts if isinstance(part, dict)]
    return clean(" ".join(str(text) for text in found if text)).rstrip(".")


def _is_limit(headers: Mapping[str, str], reason: str) -> bool:
    if "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0":
        return True
    return _LIMIT.search(reason) is not None


def _wait(headers: Mapping[str, str]) -> float:
    if (seconds := _seconds(headers.get("retry-after"))) is not None:
        return max(seconds, 1.0)
    reset = _seconds(headers.get("x-ratelimit-reset"))
    if reset is not None and headers.get("x-ratelimit-remaining") == "0":
        # One second more: the limit ends at some time within that second.
        return max(reset - time.time() + 1, 1.0)
    return LEAST_WAIT


def _seconds(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:  # a date; GitHub sends numbers
        return None
