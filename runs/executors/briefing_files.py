"""The file a step finds its briefing in; what killed workers leave behind is removed by others."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs.isolation.door import beside

_PREFIX, _SUFFIX = "faber-briefing-", ".json"


@contextmanager
def briefing_file(content: bytes) -> Iterator[Path]:
    """There while the step runs, and locked by its worker for as long."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX)
    try:
        # Not inherited: the lock ends with this process, whatever it leaves running.
        with os.fdopen(handle, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(content)
            file.flush()
            yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)  # the warden may have been quicker


def remove_left() -> int:
    """Remove the files whose workers are dead, each with the door beside it; gives their number."""
    return sum(_removed(file) for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"))


def _removed(path: Path) -> bool:
    # Another account's, a link in the place of one, or gone by now: none of ours to remove.
    with contextlib.suppress(OSError), _opened(path) as descriptor:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        beside(path).unlink(missing_ok=True)
        path.unlink()
        return True
    return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
