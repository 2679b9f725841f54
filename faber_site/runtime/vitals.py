"""What the watch tells its supervisor of a cluster, in memory that both see."""

import mmap

_WATCHED, _ANSWERED, _STUCK = range(3)


class Vitals:
    """Each place holds a session: a word about a cluster that is gone means nothing."""

    def __init__(self) -> None:
        self._sessions = memoryview(mmap.mmap(-1, 3 * 8)).cast("q")

    @property
    def session(self) -> int:
        """The cluster to look after; 0 when there is none yet."""
        return self._sessions[_WATCHED]

    @property
    def has_answered(self) -> bool:
        """Whether every lane takes jobs."""
        return 0 != self.session == self._sessions[_ANSWERED]

    @property
    def is_stuck(self) -> bool:
        return 0 != self.session == self._sessions[_STUCK]

    def watch(self, session: int) -> None:
        """Look after this cluster from now on, and no longer after the one before."""
        self._sessions[_WATCHED] = session

    def tell(self, session: int, *, has_answered: bool, is_stuck: bool) -> None:
        self._sessions[_ANSWERED] = session if has_answered else 0
        self._sessions[_STUCK] = session if is_stuck else 0
