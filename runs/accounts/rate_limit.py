"""How often somebody may do something; kept in the process, as there is one web process."""

import threading
import time
from collections.abc import Hashable


class Buckets:
    """For each of them so much at once, and then so much a second."""

    MOST = 10_000  # remembered; a bucket that is forgotten is a full one

    def __init__(self, *, burst: int, per_second: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._left: dict[Hashable, tuple[float, float]] = {}  # what is left, and when it was
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> float:
        """Take one; returns the seconds to wait when there is none left, else 0."""
        now = time.monotonic()
        with self._lock:
            left, since = self._left.pop(key, (float(self._burst), now))
            left = min(float(self._burst), left + (now - since) * self._per_second)
            wait = 0.0 if left >= 1 else (1 - left) / self._per_second
            self._left[key] = (left if wait else left - 1, now)
            if len(self._left) > self.MOST:
                del self._left[next(iter(self._left))]  # whom nobody has heard of for longest
        return wait

    def fill(self, key: Hashable) -> None:
        with self._lock:
            self._left.pop(key, None)


class Window:
    """For each of them so many within so many seconds."""

    MOST = 10_000  # remembered

    def __init__(self, *, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._taken: dict[Hashable, list[float]] = {}
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> float:
        """Take one; returns the seconds to wait when there is none left, else 0."""
        now = time.monotonic()
        with self._lock:
            taken = [at for at in self._taken.pop(key, []) if at > now - self._seconds]
            wait = taken[0] + self._seconds - now if len(taken) >= self._most else 0.0
            self._taken[key] = taken if wait else [*taken, now]
            if len(self._taken) > self.MOST:
                del self._taken[next(iter(self._taken))]  # whom nobody has heard of for longest
        return wait

    def give_back(self, key: Hashable) -> None:
        """The last one taken did not count."""
        with self._lock:
            if taken := self._taken.get(key):
                taken.pop()
