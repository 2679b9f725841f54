"""Names of headings in an address, as GitHub gives them."""

import re

_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


class Slugs:
    """The names of one document: a heading that comes again gets a number."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def take(self, title: str) -> str:
        slug = name = _NOT_IN_SLUG.sub("", title.lower()).replace(" ", "-")
        while name in self._used:
            self._used[slug] += 1
            name = f"{slug}-{self._used[slug]}"
        self._used[name] = 0
        return name
