"""How grave a plain warning or error is, and what it is about, judged by its words."""

import re
from collections.abc import Mapping
from enum import StrEnum


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Category(StrEnum):
    SECURITY = "security"
    DEPRECATION = "deprecation"
    PERFORMANCE = "performance"
    VALIDATION = "validation"
    COMPATIBILITY = "compatibility"
    CONFIGURATION = "configuration"
    STYLE = "style"
    OTHER = "other"


def _words(listed: str) -> re.Pattern[str]:
    """Whole words or phrases, separated by commas; `*` stands for any ending."""
    terms = (re.escape(term.strip()) for term in listed.split(","))
    pattern = "|".join(term.replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for term in terms)
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


# In both tables the first row that matches wins.
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

_CATEGORIES: Mapping[Category, re.Pattern[str]] = {
    Category.SECURITY: _words(
        "secur*, insecur*, vulnerab*, exploit*, attack*, authentication, authorization,"
        "permission denied, access denied, privilege*, injection*, xss, csrf, encrypt*,"
        "unencrypted, certificate*, credential*, password*, secret*"
    ),
    Category.DEPRECATION: _words(
        "deprecat*, obsolete, removed in, will be removed, end of life, legacy, outdated,"
        "replaced by, replaced with"
    ),
    Category.PERFORMANCE: _words(
        "performance, slow*, speed, latency, timeout*, timed out, memory, leak*, heap, cpu,"
        "bundle size"
    ),
    Category.VALIDATION: _words(
        "valid*, invalid*, schema*, required, missing, undefined, mismatch*, constraint*"
    ),
    Category.COMPATIBILITY: _words(
        "compatib*, incompatib*, breaking, upgrade*, downgrade*, migration*, version*"
    ),
    Category.CONFIGURATION: _words("config*, misconfig*, setting*, environment, env"),
    Category.STYLE: _words(
        "style*, format*, lint*, eslint, prettier, convention*, naming, indent*, whitespace,"
        "line too long, lines too long, line length"
    ),
}


def severity_of(text: str) -> Severity:
    return next(
        (severity for severity, words in _SEVERITIES.items() if words.search(text)),
        Severity.MEDIUM,
    )


def category_of(text: str) -> Category:
    return next(
        (category for category, words in _CATEGORIES.items() if words.search(text)),
        Category.OTHER,
    )
