"""Every kind of secret is known by its looks, and ordinary output is not taken for one."""

import base64
import hashlib
import random
import re
import uuid

import pytest

from runs.domain.values.secrets.forms import TOKEN_FORMS
from runs.domain.values.secrets.redaction import REDACTED, redact
from tests.sample_secrets import PRIVATE_KEY, TOKENS, tail

# What may stay of a secret: nothing that is long enough to be part of what was made by chance.
_MADE_UP = re.compile(r"[A-Za-z0-9+/]{12,}")


@pytest.mark.parametrize("name", TOKENS)
def test_nothing_of_a_token_is_left(name: str) -> None:
    token = TOKENS[name]
    secret = max(_MADE_UP.findall(token.rpartition(".")[2]), key=len)

    for text in (
        token,
        f"before {token} after",
        f'{{"a":"{token}"}}',
        f"x={token}&y=1",
        f"\n{token}\n",
    ):
        assert secret not in redact(text)
        assert REDACTED in redact(text)


def test_the_words_around_a_token_stay() -> None:
    token = TOKENS["GitHub ghp"]

    assert redact(f"pushed with {token}, then stopped") == f"pushed with {REDACTED}, then stopped"


# The first of two braces stands for the secret.
IN_PLACES = [
    "https://faber.example.org/login/link/{}/",
    "AccountKey={};EndpointSuffix=core.windows.net",
    "deploy --token {} --dry-run",
    "curl -u joe:{} https://example.org",
    '[{"auths": ["auth": "{}"]}]',
    "TWILIO_AUTH_TOKEN={}",
    "//registry.example.org/:_authToken={}",
    "git clone https://joe:{}@example.org/x.git",
]


@pytest.mark.parametrize("text", IN_PLACES)
def test_a_secret_is_known_by_its_place(text: str) -> None:
    assert redact(text.replace("{}", tail(40))) == text.replace("{}", REDACTED)


def test_the_signature_of_an_address_that_opens_a_store_is_taken_out() -> None:
    text = f"https://store.blob.core.windows.net/c?sv=1&sig={tail(40)}%3D&se=2"

    assert redact(text) == f"https://store.blob.core.windows.net/c?sv=1&{REDACTED}&se=2"


def test_a_key_of_aws_is_known_beside_its_id() -> None:
    key = tail(40, "abcDEF012+/xyzKLM345")
    text = f"id,key\n{TOKENS['AWS AKIA']},{key}\n"

    assert redact(text) == f"id,key\n{REDACTED},{REDACTED}\n"


def test_a_private_key_in_json_is_taken_out() -> None:
    written = PRIVATE_KEY.replace("\n", "\\n")

    assert redact(f'{{"private_key": "{written}\\n", "x": 1}}').endswith('", "x": 1}')
    assert redact(f"see {written} there") == f"see {REDACTED} there"


def test_the_end_of_a_key_takes_the_lines_before_it_along() -> None:
    cut = PRIVATE_KEY.partition("\n")[2].partition("\n")[2]

    assert redact(f"[… left out …]\n{cut}\nafter") == f"[… left out …]\n{REDACTED}\nafter"


def test_a_key_without_an_end_hides_no_more_than_a_key_is_long() -> None:
    line = "an ordinary line of output\n"
    text = "-----BEGIN PRIVATE KEY-----\n" + line * 3_000

    assert redact(text).count(line) > 1_000


_chance = random.Random(7)  # noqa: S311 - nobody has to guess it


@pytest.mark.parametrize(
    "text",
    [
        f"commit {_chance.getrandbits(160):040x}",
        f"index {_chance.getrandbits(28):07x}..{_chance.getrandbits(28):07x} 100644",
        f"sha256:{hashlib.sha256(b'x').hexdigest()}",
        f"sha512-{base64.b64encode(hashlib.sha512(b'x').digest()).decode()}",
        f"run acme/shop/{uuid.UUID(int=_chance.getrandbits(128))} started",
        f"data:image/png;base64,{base64.b64encode(_chance.randbytes(3_000)).decode()}",
        "tests/runs/domain/values/secrets/test_forms.py::test_ordinary_output_stays PASSED",
        "faber_site.settings.FABER_GITHUB_WEBHOOK_SECRET",
        "faber_this_is_a_long_name_of_a_test_that_says_what_it_is_about",
        "def sign_in(token: str, password: str | None) -> None:",
        "password: os.environ['PASSWORD']",
        "const key = process.env.API_KEY",
        "export TOKEN=$GITHUB_TOKEN",
        "usage: deploy [--token TOKEN] [--password-file FILE]",
        "docker run -u 1000:1000 image",
        "ghp_ is how a token begins, sk- another, AKIA a third",
        "https://example.org:8080/login/link/",
        "2024-05-01T12:00:00.123Z INFO [worker-3] 17 passed, 2 skipped in 4.21s",
        "Requirement already satisfied: django==5.2.4 (from -r requirements.lock)",
        "npm WARN deprecated core-js-compat-3.31.0-next: use something newer",
        "risk-of-breaking-changes-in-the-next-release-is-low",
        "/usr/lib/python3.11/site-packages/some_package_with_a_long_name/__init__.py",
        "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 is a public key",
    ],
)  # fmt: skip
def test_ordinary_output_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *(form.begins[0] for form in TOKEN_FORMS),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 64 + "\n"),
        *("--token ", '_auth="', "curl -u ", "AKIA" + "A" * 16 + " "),
        *("aB3" * 8 + ".", "0123456789abcdef" * 2 + "-"),
    ],
)
def test_time_grows_with_the_length_only(piece: str) -> None:
    # What grows with the square of the length would run into the time limit of the tests.
    redact(piece * (200_000 // len(piece)))
    redact(f"{piece}x7Y" * (100_000 // len(piece)))
