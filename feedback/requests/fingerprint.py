"""Recognises a failure that happened before, whatever its times, paths and numbers were."""

import hashlib
import re
from collections.abc import Iterable

_TAIL = 20  # errors that are looked at; a flood of them differs by its length only
_LONGEST = 2000

# What differs between two times the same thing breaks, the longest forms first.
_CHANGING = re.compile(
    r"""
      \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b   # uuids
    | (?:[a-z]:)?(?:[\\/][\w.@+~-]+){2,}                # paths
    | \b0x[0-9a-f]+\b
    | \b[0-9a-f]{7,64}\b                                # hashes
    | \d+(?:[.:,]\d+)*                                  # numbers, times, versions
    """,
    re.VERBOSE | re.IGNORECASE,
)


def fingerprint(workflow: str, step: str, errors: Iterable[str]) -> str:
    """The same for the same trouble at the same step of the same workflow."""
    sentences = [_settled(error) for error in list(errors)[:_TAIL]]
    meaning = "\n".join([workflow, step, *sorted(set(sentences))])
    return hashlib.sha256(meaning.encode()).hexdigest()


def _settled(error: str) -> str:
    return " ".join(_CHANGING.sub("#", error[:_LONGEST].casefold()).split())
