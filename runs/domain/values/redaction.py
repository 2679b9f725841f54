"""Takes secrets out of text before it is shown where anybody can read it."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from urllib.parse import quote

REDACTED = "[redacted]"
# The site's own secrets: settings whose value no text may hold, and variables no step inherits.
SECRET_SETTINGS = (
    "SECRET_KEY",
    "FABER_GITHUB_TOKEN",
    "FABER_GITHUB_APP_KEY",
    "FABER_GITHUB_WEBHOOK_SECRET",
    "FABER_GITHUB_CLIENT_SECRET",
)
# A name that ends in * stands for every variable that begins like it.
SECRET_VARIABLES = ("FABER_SECRET_KEY", "FABER_GITHUB_*", "FABER_DATABASE_URL", "FABER_NOTIFY_URLS")
SHORTEST_SECRET = 6  # a shorter value would take words out of ordinary text

# Whole tokens, recognised by how their makers write them.
_TOKENS = (
    r"gh[pousr]_[A-Za-z0-9_]{16,}(?:[.-][A-Za-z0-9_-]+)*",  # GitHub
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}",  # Anthropic, OpenAI and those who copy them
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    r"xox[a-z]-[A-Za-z0-9-]{8,}",  # Slack
    r"xapp-[A-Za-z0-9-]{8,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/_-]+",
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_.-]{16,}",
    r"GOCSPX-[A-Za-z0-9_-]{16,}",
    r"glpat-[A-Za-z0-9_-]{16,}",  # GitLab
    r"(?<![A-Za-z0-9])(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}",
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{50,}",
    r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)*+",  # JWT
)
_TOKEN = re.compile("|".join(_TOKENS), re.ASCII)

# A key without its end is cut off, so all that follows may be key.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)

# What stands after a telling name; only the value is taken out.
_ASSIGNED = re.compile(
    r"""(?:passw(?:or)?d|passphrase|pwd|secret(?!ar)|credentials?|authorization
        |token(?!s\b|iz)|(?:api|access|private|signing|encryption)[ _-]?key)
        [\w-]{0,40} ["'`*\]]{0,4} [ \t]{0,8} (?:=>|:=|[:=]) [ \t*]{0,8}
        (?:(?:bearer|basic|token|digest)[ \t]{1,8})?
        (?P<value> "[^"\n]+" | '[^'\n]+' | `[^`\n]+` | ["'`]?[^\s"'`,;&<>]+ )""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"\bbearer[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"://(?:[^\s/:@]*+:(?P<value>[^\s/]+)|(?P<user>[\w-]{20,}+))@")
_NO_SECRET = re.compile(r"[\"'`]?(?:\$\{.*|\{\{.*|none|null|true|false)?[\"'`)}.]*", re.IGNORECASE)

# How each of the above begins. A text of a megabyte is searched for these in no time; to try the
# patterns at every letter of it takes half a second.
_TOKEN_BEGINS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "hf_"),
    *("sk-", "sk_", "rk_", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.", "GOCSPX-", "eyJ"),
    *("xox", "xapp-", "hooks.slack.com/services/"),
)
_ASSIGNED_BEGINS = (
    *("passw", "passphrase", "pwd", "secret", "credential", "authorization", "token"),
    *("api", "access", "private", "signing", "encryption"),
)
_BEARER_BEGINS = ("bearer",)
# What a pattern takes for these letters, besides their capitals.
_SAME_LETTERS = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}

_Span = tuple[int, int]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `[redacted]` for every secret known by its value or by its looks."""
    known = _spellings(tuple(secrets))
    # What was taken out may part a token from the letter that hid it, so look again.
    while (clean := _redacted(text, known)) != text:
        text = clean
    return text


@lru_cache(maxsize=8)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Each secret as it is and as an address would carry it."""
    values = (secret.strip() for secret in secrets)
    long = [value for value in values if len(value) >= SHORTEST_SECRET and value not in REDACTED]
    encoded = (quote(value, safe="", errors="replace") for value in long)
    return tuple(dict.fromkeys((*long, *encoded)))


def _redacted(text: str, known: tuple[str, ...]) -> str:
    parts: list[str] = []
    end = 0
    for start, stop in _joined(sorted(_secret_spans(text, known)), text):
        parts += (text[end:start], REDACTED)
        end = stop
    return "".join((*parts, text[end:]))


def _secret_spans(text: str, known: tuple[str, ...]) -> Iterator[_Span]:
    for value in known:
        yield from ((at, at + len(value)) for at in _places(text, value))
    small = _small(text)
    for found in chain(_matches(_TOKEN, text, _TOKEN_BEGINS, text), _PRIVATE_KEY.finditer(text)):
        yield found.span()
    for found in chain(
        _matches(_ASSIGNED, text, _ASSIGNED_BEGINS, small),
        _matches(_BEARER, text, _BEARER_BEGINS, small),
    ):
        if not _NO_SECRET.fullmatch(found["value"]):
            yield _within_quotes(found)
    for found in _IN_ADDRESS.finditer(text):
        yield found.span("value" if found["value"] else "user")


def _matches(
    pattern: re.Pattern[str], text: str, begins: tuple[str, ...], searched: str
) -> Iterator[re.Match[str]]:
    """What `finditer` gives, for a pattern of which it is known how a match begins."""
    end = 0
    for at in sorted(chain.from_iterable(_places(searched, begin) for begin in begins)):
        found = pattern.match(text, at) if at >= end else None
        if found:
            end = found.end()
            yield found


def _small(text: str) -> str:
    """In small letters, each where it was."""
    if not text.isascii():
        for letter, meant in _SAME_LETTERS.items():
            text = text.replace(letter, meant)
    return text.lower()


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _within_quotes(found: re.Match[str]) -> _Span:
    value, start = found["value"], found.start("value")
    bare = value.strip("\"'`")
    begin = start + value.find(bare)
    return begin, begin + len(bare)


def _joined(spans: list[_Span], text: str) -> Iterator[_Span]:
    """Spans that overlap become one, together with a mark they cut into."""
    marks = (found.span() for found in re.finditer(re.escape(REDACTED), text))
    whole: list[_Span] = []
    for start, stop in sorted(chain(spans, marks)):
        if whole and start < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(stop, whole[-1][1]))
        else:
            whole.append((start, stop))
    yield from whole
