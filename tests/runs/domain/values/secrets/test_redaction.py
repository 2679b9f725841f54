"""Secrets never leave in a comment."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runs.domain.values.secrets.redaction import REDACTED, SHORTEST_SECRET, redact

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"

TOKENS = [
    *(f"gh{kind}_{LETTERS}{LETTERS}" for kind in "pousr"),
    f"ghs_123_{LETTERS}.{LETTERS}.{LETTERS}-x",
    f"github_pat_{LETTERS}_{LETTERS}",
    f"sk-ant-api03-{LETTERS}-{LETTERS}",
    f"sk-{LETTERS}{LETTERS}",
    f"sk-proj-{LETTERS}_{LETTERS}",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    f"xoxb-123456789012-{LETTERS}",
    f"xoxp-123456789012-{LETTERS}",
    f"AIza{LETTERS}{LETTERS[:11]}",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
    f"glpat-{LETTERS}",
    PEM,
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA cut off",
]


@pytest.mark.parametrize("token", TOKENS, ids=[token[:12] for token in TOKENS])
def test_a_token_is_taken_out_wherever_it_stands(token: str) -> None:
    assert redact(f"before {token}") == f"before {REDACTED}"
    assert token not in redact(f"`{token}`\n")
    assert token not in redact(f"url=https://x/?t={token}&y=1")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=hunter2 more", "password=[redacted] more"),
        ("PASSWORD: hunter2", "PASSWORD: [redacted]"),
        ('{"password": "a b", "x": 1}', '{"password": "[redacted]", "x": 1}'),
        ("DB_PASSWORD='hunter2'", "DB_PASSWORD='[redacted]'"),
        ("token: abc123", "token: [redacted]"),
        ("password: theatre", "password: [redacted]"),
        ("password: s3cr3t(x)", "password: [redacted]"),
        ("password: hunter(2)", "password: [redacted]"),
        ("DB_PASSWORD=Xkq(83hf92Hs", "DB_PASSWORD=[redacted]"),
        ("**Token**: `abc123`", "**Token**: `[redacted]`"),
        ("api_key=abc123", "api_key=[redacted]"),
        ("API key: abc123", "API key: [redacted]"),
        ('client_secret := "abc"', 'client_secret := "[redacted]"'),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted]",
        ),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ("authorization: basic Zm9vOmJhcg==", "authorization: basic [redacted]"),
        ("-H 'Authorization: token abc'", "-H 'Authorization: token [redacted]'"),
        ("Bearer abcdefghijklmnop", "Bearer [redacted]"),
        ("https://joe:p@ss@host/x", "https://joe:[redacted]@host/x"),
        ("redis://:pw@host", "redis://:[redacted]@host"),
        (f"https://{LETTERS}@github.com/x", "https://[redacted]@github.com/x"),
    ],
)
def test_a_value_with_a_telling_name_is_taken_out(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "An ordinary sentence about tokens and passwords.",
        "max_tokens: 100",
        "The secretary: Bob",
        "risk-assessment-of-the-whole-thing",
        "password: ${PASSWORD}",
        "token: null",
        "password=",
        "Rename the token: use sessions. The password: chosen by the user.",
        "secret_key: No such file",
        "token = next(tokens)",
        "token = jwt.decode(text, keys)",
        'token = os.getenv("TOKEN")',
        "ssh://git@github.com/acme/shop",
        "mailto:joe@example.org",
        "https://example.org:8080/a@b",
        "AKIAnotakey",
        "already redacted",
        "[redacted]",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text, ["", "abc", "redacted"]) == text


def test_the_given_values_are_taken_out_also_from_addresses() -> None:
    assert redact("x s3cr/t! y s3cr%2Ft%21 z", ["s3cr/t!"]) == "x [redacted] y [redacted] z"
    assert redact("abc", ["abc"]) == "abc"


def test_secrets_that_overlap_leave_no_end_behind() -> None:
    assert redact("abcdefghij", ["abcdef", "efghij"]) == REDACTED
    assert redact("abcdefghij", ["abcdef", "abcdefghij"]) == REDACTED


def test_a_secret_that_cuts_into_a_mark_takes_the_whole_mark() -> None:
    assert redact("[redacted]x", ["acted]x"]) == REDACTED


def test_a_token_freed_by_another_redaction_is_found() -> None:
    assert f"sk-{LETTERS}" not in redact(f"secret1sk-{LETTERS}", ["secret1"])


def test_a_value_is_no_call_in_a_time_that_grows_with_its_length_only() -> None:
    value = f"f({'.' * 400_000}!"
    began = time.perf_counter()

    assert redact(f"token={value}") == f"token={REDACTED}"

    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "-sk-", "password=", "-----BEGIN ", "://a:", "bearer ", 'token="', "ghp_", "a:", " "],
)
def test_time_grows_with_the_length_only(piece: str) -> None:
    began = time.perf_counter()

    redact("token: ://" + piece * (400_000 // len(piece)), ["abcdef"])

    assert time.perf_counter() - began < 5


secrets = st.text(min_size=SHORTEST_SECRET, max_size=20).filter(
    lambda secret: len(secret.strip()) >= SHORTEST_SECRET
)
texts = st.lists(
    st.sampled_from(["password=", "token: ", "[redacted]", "redacted]", "[red", "sk-", "ghp_", '"'])
    | st.sampled_from(TOKENS)
    | st.text(max_size=8),
    max_size=12,
).map("".join)


@given(texts, st.lists(secrets, max_size=3), st.data())
def test_no_given_secret_is_ever_left_and_twice_is_as_once(
    text: str, given_secrets: list[str], data: st.DataObject
) -> None:
    assume(not any(secret.strip() in REDACTED for secret in given_secrets))
    for secret in given_secrets:
        at = data.draw(st.integers(min_value=0, max_value=len(text)))
        text = text[:at] + secret + text[at:]

    clean = redact(text, given_secrets)

    assert redact(clean, given_secrets) == clean
    assert not any(secret.strip() in clean for secret in given_secrets)
