"""Takes secrets out of text before it is shown where anybody can read it."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from urllib.parse import quote

REDACTED = "[redacted]"
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

_Span = tuple[int, int]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `[redacted]` for every secret known by its value or by its looks."""
    known = _spellings(secrets)
    # What was taken out may part a token from the letter that hid it, so look again.
    while (clean := _redacted(text, known)) != text:
        text = clean
    return text


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
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
        at = text.find(value)
        while at >= 0:
            yield at, at + len(value)
            at = text.find(value, at + len(value))
    for found in chain(_TOKEN.finditer(text), _PRIVATE_KEY.finditer(text)):
        yield found.span()
    for found in chain(_ASSIGNED.finditer(text), _BEARER.finditer(text)):
        if not _NO_SECRET.fullmatch(found["value"]):
            yield _within_quotes(found)
    for found in _IN_ADDRESS.finditer(text):
        yield found.span("value" if found["value"] else "user")


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
