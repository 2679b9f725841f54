"""What goes wrong between the site and a tracker, as sentences that never hold a secret."""

import re

from runs.domain.values.errors import FaberError
from runs.domain.values.numbers import seconds_of

LONGEST_REASON = 300

_TOKEN = re.compile(r"(gh[a-z]_|github_pat_|glpat-|gl[a-z]{2,5}-)[\w.-]+|eyJ[\w-]+\.[\w-]+\.[\w-]+")


class TrackerError(FaberError):
    """The tracker does not accept this."""

    code = "tracker"

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedCredentials(TrackerError):
    """The tracker refuses the site's credentials."""

    code = "tracker_refused"


class NotThere(TrackerError):
    """The tracker has no such thing, or does not show it to this token."""

    code = "tracker_not_there"


class Slowed(TrackerError):
    """The tracker asks to wait; `retry_after` says for how many seconds."""

    code = "tracker_slowed"


class Unreachable(TrackerError):
    """The tracker did not answer; it may have done what was asked."""

    code = "tracker_unreachable"


def of_status(
    status: int, said: str, *, limit: float | None = None, retry_after: float | None = None
) -> TrackerError:
    """The error behind an answer that is not a success; a limit is how long it asks to wait."""
    if limit is not None:
        return Slowed(f"{said} Retry after {seconds_of(round(limit))}.", retry_after=limit)
    if status in (401, 403):
        return RefusedCredentials(said)
    if status in (404, 410):
        return NotThere(said)
    if status in (301, 302, 307, 308):
        return NotThere(f"{said} The repository has moved. Use its new name.")
    if status >= 500:
        return Unreachable(said, retry_after=retry_after)
    return TrackerError(said)


def clean(text: str) -> str:
    """One short line without anything that looks like a token."""
    line = " ".join(_TOKEN.sub("…", text).split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def seconds_in(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:  # a date; trackers send numbers
        return None
