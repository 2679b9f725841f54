"""Which changed files a plan did not mean to touch."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache


def outside(globs: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """The paths that no glob takes in; without globs nobody said anything, so none is outside.

    `*` and `?` stay inside a folder, `**` does not; a folder takes in everything below it.
    """
    known = [_pattern(glob) for glob in globs]
    if known:
        yield from (path for path in paths if not any(each.fullmatch(path) for each in known))


@lru_cache(maxsize=500)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob.strip("/"))
    meant = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts) + "(?:/.*)?")
