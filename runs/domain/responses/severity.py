"""How grave a plain warning or error is, judged by its words."""

import re
from collections.abc import Mapping
from enum import StrEnum


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def _words(listed: str) -> re.Pattern[str]:
    """Whole words or phrases, separated by commas; `*` stands for any ending."""
    terms = (re.escape(term.strip()) for term in listed.split(","))
    pattern = "|".join(term.replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for term in terms)
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


# The first row that matches wins.
_SEVERITIES: Mapping[Severity, re.Pattern[str]] = {
    Severity.HIGH: _words(
        "critical, fatal, crash*, corrupt*, security, vulnerab*, exploit*, attack*, breaking,"
        "incompatib*, fail*, error*, data loss, authentication, authorization, permission denied,"
        "injection*, xss, csrf"
    ),
    Severity.MEDIUM: _words(
        "deprecat*, obsolete, removed in, warn*, caution, should, consider, recommend*,"
        "performance, slow*, timeout*, memory, leak*, cpu, missing, incomplete"
    ),
    Severity.LOW: _words(
        "style*, format*, lint*, minor, trivial, cosmetic, optional*, suggestion*, info, note,"
        "hint*, convention*, best practice*, line too long, lines too long, line length"
    ),
}


def severity_of(text: str) -> Severity:
    return next(
        (severity for severity, words in _SEVERITIES.items() if words.search(text)),
        Severity.MEDIUM,
    )
