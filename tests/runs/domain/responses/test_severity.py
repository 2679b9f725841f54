"""A plain string's severity is judged by whole words, gravest first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.responses.severity import Severity, severity_of

GOLDEN = [
    ("Deprecated API: useCallback will be removed in v3.0", "medium"),
    ("deprecated API removed in v3.0", "medium"),
    ("SQL injection vulnerability in user input handler", "high"),
    ("Line too long (120 chars, max 100)", "low"),
    ("Memory leak detected in event listener", "medium"),
    ("Missing required field 'user_id' in request body", "medium"),
]


@pytest.mark.parametrize(("text", "severity"), GOLDEN)
def test_the_published_examples_are_judged_as_published(text: str, severity: str) -> None:
    assert severity_of(text) == severity


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("FATAL: could not open the file", Severity.HIGH),
        ("3 vulnerabilities found", Severity.HIGH),
        ("The build failed", Severity.HIGH),
        ("possible data   loss", Severity.HIGH),
        ("Permission denied: /etc/shadow", Severity.HIGH),
        ("You should rename this", Severity.MEDIUM),
        ("warned twice", Severity.MEDIUM),
        ("Formatting differs", Severity.LOW),
        ("against best practice", Severity.LOW),
        ("Line length is 120", Severity.LOW),
        ("Nothing we know a word of", Severity.MEDIUM),
        ("", Severity.MEDIUM),
    ],
)
def test_severity_follows_the_gravest_word(text: str, severity: Severity) -> None:
    assert severity_of(text) is severity


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("minor style issue, but a security one", Severity.HIGH),
        ("deprecated and slow", Severity.MEDIUM),
        ("optional, yet missing", Severity.MEDIUM),
    ],
)
def test_the_earlier_row_wins_when_several_match(text: str, severity: Severity) -> None:
    assert severity_of(text) is severity


@pytest.mark.parametrize("text", ["terror", "test_auth_failed", "prefixss", "notebook", "hotstyle"])
def test_a_keyword_inside_another_word_counts_for_nothing(text: str) -> None:
    assert severity_of(text) is Severity.MEDIUM


@given(st.text())
def test_every_text_has_a_severity_whatever_its_case(text: str) -> None:
    assert isinstance(severity_of(text), Severity)
    assert severity_of(text + " XSS") is severity_of(text + " xss") is Severity.HIGH
