"""A plain string's severity and category are judged by whole words, gravest first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.responses.severity import Category, Severity, category_of, severity_of

GOLDEN = [
    ("Deprecated API: useCallback will be removed in v3.0", "medium", "deprecation"),
    ("deprecated API removed in v3.0", "medium", "deprecation"),
    ("SQL injection vulnerability in user input handler", "high", "security"),
    ("Line too long (120 chars, max 100)", "low", "style"),
    ("Memory leak detected in event listener", "medium", "performance"),
    ("Missing required field 'user_id' in request body", "medium", "validation"),
]


@pytest.mark.parametrize(("text", "severity", "category"), GOLDEN)
def test_the_published_examples_are_judged_as_published(
    text: str, severity: str, category: str
) -> None:
    assert (severity_of(text), category_of(text)) == (severity, category)


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
    ("text", "category"),
    [
        ("Config file permissions are too open", Category.CONFIGURATION),
        ("Breaking change in the client", Category.COMPATIBILITY),
        ("Backwards-compatible from 2.0", Category.COMPATIBILITY),
        ("Large bundle size (2.5MB)", Category.PERFORMANCE),
        ("Password stored in plain text", Category.SECURITY),
        ("eslint: unexpected token", Category.STYLE),
        ("Something else", Category.OTHER),
    ],
)
def test_category_follows_the_words(text: str, category: Category) -> None:
    assert category_of(text) is category


@pytest.mark.parametrize(
    ("text", "severity", "category"),
    [
        ("minor style issue, but a security one", Severity.HIGH, Category.SECURITY),
        ("deprecated and slow", Severity.MEDIUM, Category.DEPRECATION),
        ("optional, yet missing", Severity.MEDIUM, Category.VALIDATION),
    ],
)
def test_the_earlier_row_wins_when_several_match(
    text: str, severity: Severity, category: Category
) -> None:
    assert (severity_of(text), category_of(text)) == (severity, category)


@pytest.mark.parametrize("text", ["terror", "test_auth_failed", "prefixss", "notebook", "hotstyle"])
def test_a_keyword_inside_another_word_counts_for_nothing(text: str) -> None:
    assert (severity_of(text), category_of(text)) == (Severity.MEDIUM, Category.OTHER)


@given(st.text())
def test_every_text_has_a_severity_and_a_category_whatever_its_case(text: str) -> None:
    assert isinstance(severity_of(text), Severity)
    assert category_of(text + " XSS") is category_of(text + " xss") is Category.SECURITY
