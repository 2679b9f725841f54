"""What GitHub's answers mean when they are not a success."""

import re
import time
from collections.abc import Mapping

from runs.trackers.errors import TrackerError, clean, of_status, seconds_in

# GitHub asks for at least a minute when it does not say how long.
LEAST_WAIT = 60.0

_LIMIT = re.compile(
    r"rate limit|abuse detection|retry your request again later|wait a few minutes", re.IGNORECASE
)


def of_answer(status: int, headers: Mapping[str, str], data: object, asked: str) -> TrackerError:
    """The error behind an answer that is not a success; header names in small letters."""
    reason = _reason(data)
    said = f"GitHub returned {status} for {asked}" + (f": {reason}" if reason else "") + "."
    is_limit = status == 429 or (status == 403 and _is_limit(headers, reason))
    return of_status(
        status,
        said,
        limit=_wait(headers) if is_limit else None,
        retry_after=seconds_in(headers.get("retry-after")),
    )


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
    if (seconds := seconds_in(headers.get("retry-after"))) is not None:
        return max(seconds, 1.0)
    reset = seconds_in(headers.get("x-ratelimit-reset"))
    if reset is not None and headers.get("x-ratelimit-remaining") == "0":
        # One second more: the limit ends at some time within that second.
        return max(reset - time.time() + 1, 1.0)
    return LEAST_WAIT
