"""The ways in which GitHub fails."""

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens instead of a plain answer; without a status the plain answer is given."""

    name: str
    stores: bool
    status: int = 0
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    resets_in: int | None = None  # seconds from the answer on
    drops: bool = False
    delay: float = 0.0

    def said_headers(self) -> dict[str, str]:
        if self.resets_in is None:
            return self.headers
        return {**self.headers, "X-RateLimit-Reset": str(int(time.time()) + self.resets_in)}


def bad_gateway(*, after_storing: bool) -> Fault:
    """A 502 as its proxies send it: not JSON."""
    return Fault(name="502", status=502, stores=after_storing)


def drop(*, after_storing: bool) -> Fault:
    return Fault(name="dropped", drops=True, stores=after_storing)


def slow(seconds: float) -> Fault:
    """Does at once what was asked, and says so late."""
    return Fault(name="slow", delay=seconds, stores=True)


def secondary_limit(retry_after: int | None = 60) -> Fault:
    message = "You have exceeded a secondary rate limit. Please wait a few minutes."
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(name="secondary limit", status=403, message=message, headers=headers, stores=False)


def primary_limit(resets_in: int = 1800) -> Fault:
    return Fault(
        name="primary limit",
        status=403,
        message="API rate limit exceeded for user ID 1.",
        headers={"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0"},
        resets_in=resets_in,
        stores=False,
    )


def unauthorized() -> Fault:
    return Fault(name="401", status=401, message="Bad credentials", stores=False)


def not_found() -> Fault:
    return Fault(name="404", status=404, message="Not Found", stores=False)
