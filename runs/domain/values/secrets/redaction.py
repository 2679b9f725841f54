"""Takes secrets out of text before it is stored, or shown where anybody can read it."""

import re
import string
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from urllib.parse import quote

from runs.domain.values.secrets.forms import KEY_BESIDE_ID, LOOSE_FORMS, TELLING_NAMES, TOKEN_FORMS

REDACTED = "[redacted]"
# The site's own secrets: settings whose value no text may hold, and variables no step inherits.
SECRET_SETTINGS = (
    "SECRET_KEY",
    "FABER_AUDIT_KEY",
    "FABER_GITHUB_TOKEN",
    "FABER_GITHUB_APP_KEY",
    "FABER_GITHUB_WEBHOOK_SECRET",
    "FABER_GITHUB_CLIENT_SECRET",
    "FABER_OIDC_CLIENT_SECRET",
    "FABER_SENTRY_DSN",
    "FABER_GITLAB_TOKEN",
    "FABER_GITLAB_WEBHOOK_SECRET",
    "EMAIL_HOST_PASSWORD",
)
# A name that ends in * stands for every variable that begins like it.
SECRET_VARIABLES = (
    *("FABER_SECRET_KEY", "FABER_AUDIT_KEY", "FABER_GITHUB_*", "FABER_GITLAB_*"),
    *("FABER_DATABASE_URL", "FABER_CELERY_BROKER_URL", "FABER_OIDC_*"),
    *("FABER_OTLP_*", "FABER_SENTRY_DSN"),
    *("FABER_NOTIFY_URLS", "FABER_EMAIL_URL"),
)
SHORTEST_SECRET = 6  # a shorter value would take words out of ordinary text
# What a token may be made of: text that is cut must not be cut between two of these.
TOKEN_LETTERS = string.ascii_letters + string.digits + "_-.~:+/=%@"

# A key without its end was cut off, so what follows may be key: as much as a long key has.
LONGEST_KEY = 32_768
_MOST_KEY_LINES = LONGEST_KEY // 64
_KEY_BEGINS = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_ENDS = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BEGIN = re.compile(_KEY_BEGINS)
_KEY_END = re.compile(_KEY_ENDS)
_PRIVATE_KEY = re.compile(
    rf"{_KEY_BEGINS}(?:.{{0,{LONGEST_KEY}}}?{_KEY_ENDS}|.{{0,{LONGEST_KEY}}})", re.DOTALL
)
_KEY_LINE = re.compile(r"[ \t>|+]{0,8}(?:[A-Za-z0-9+/=]{1,100}|[A-Z][A-Za-z-]{2,20}: .{0,100})?\r?")

# What stands after a telling name; only the value is taken out.
_ASSIGNED = re.compile(
    rf"""(?:{"|".join(TELLING_NAMES.values())})
        [\w-]{{0,40}} ["'`*\]]{{0,4}} [ \t]{{0,8}} (?:=>|:=|[:=]) [ \t*]{{0,8}}
        (?:(?:bearer|basic|token|digest)[ \t]{{1,8}})?
        (?P<value> "[^"\n]+" | '[^'\n]+' | `[^`\n]+` | ["'`]?[^\s"'`,;&<>]+ )""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"\bbearer[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE)
# On a command line there is only a space between a name and its value.
_FLAG = re.compile(
    r"(?<=--)[\w-]{0,30}?(?:passw(?:or)?d|passphrase|secret|token|api-?key|access-?key)"
    r"[ \t]{1,8}[\"']?(?P<value>(?=[^\s\"']{0,80}[0-9])[^\s\"'-][^\s\"']{5,})",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    r"(?:-u|--user)[ \t=]{0,4}[\"']?[^\s:\"']{0,100}:(?P<value>[^\s\"']{3,})", re.IGNORECASE
)
_STORED_LOGIN = re.compile(
    r"(?<=[\"_])auth[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?(?P<value>[A-Za-z0-9+/]{12,}={0,2})",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"://(?:[^\s/:@]*+:(?P<value>[^\s/]+)|(?P<user>[\w-]{20,}+))@")
_NO_SECRET = re.compile(
    r"""[\"'`]?(?:\$\{.*|\{\{.*|\$\(.*|\$[A-Za-z_]\w*|%\w+%|\*{3,}|\.{3}|…
        |none|null|nil|true|false|undefined|required|optional
        |str|string|int|integer|float|bool|boolean|bytes|any|object|dict|list
        |os\.environ\b.*|process\.env\b.*|secrets\.\w+
        |[a-z_]+(?:\.[a-z_]+)*\([a-z_.=]*+\)?
        |the|an?|this|that|its?|not?|no|is|was|are|be|been|must|should|can|cannot|may|will|does|did
        |use|using|set|get|add|make|keep|take|give|put|remove|rename|replace|move|change|check|see
        |by|from|in|on|to|for|with|without|of|at|as|and|or|but|if|when|where|which|who|whose
        |chosen|given|missing|invalid|expired|wrong|unknown|empty|unset|found|needed|revoked
    )?[\"'`)\]}.,:|]*""",
    re.IGNORECASE | re.VERBOSE,
)

_PATTERNS = {form: re.compile(form.pattern, re.ASCII) for form in TOKEN_FORMS}
_BEGINS = tuple((begin, form) for form in TOKEN_FORMS for begin in form.begins)
_LOOSE = tuple((re.compile(pattern, re.ASCII), before) for pattern, before in LOOSE_FORMS)
_AWS_ID = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}" + KEY_BESIDE_ID)
_SHORTEST_TOKEN = 12
_PARTED = bytes.maketrans(b"\"'`,;(){}[]<>|", b" " * 14)
_JUMBLE = re.compile(rb"[A-Za-z0-9]{16}|(?=[A-Za-z]{0,5}[0-9])[A-Za-z0-9]{6}")
_HASH = re.compile(rb"[0-9a-f]+")
# What a pattern takes for these letters, besides their capitals.
_SAME_LETTERS = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}
# What was taken out may part a token from a letter that hid it; so much deeper nobody hides one.
_MOST_ROUNDS = 8

_Span = tuple[int, int]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `[redacted]` for every secret known by its value or by its looks."""
    known = _spellings(tuple(secrets))
    for _ in range(_MOST_ROUNDS):
        clean, is_certain = _redacted(text, known)
        if is_certain or clean == text:
            return clean
        text = clean
    return text


class LineRedaction:
    """Redacts a text that comes line by line: a private key spans many of them."""

    def __init__(self, conceal: Callable[[str], str] = redact) -> None:
        self._conceal = conceal
        self._key_left = 0  # how many letters of a key may still come

    def __call__(self, line: str) -> str:
        if self._key_left:
            end = _KEY_END.search(line)
            line = REDACTED + (line[end.end() :] if end else "")
            self._key_left = 0 if end else self._key_left - 1
        self.pass_over(line)
        return self._conceal(line)

    def pass_over(self, lines: str) -> None:
        """Take note of lines that nobody is shown: a key may begin or end there."""
        begins = [found.start() for found in _KEY_BEGIN.finditer(lines)]
        ends = [found.start() for found in _KEY_END.finditer(lines)]
        if begins or ends:
            is_open = max(begins, default=-1) > max(ends, default=-1)
            self._key_left = _MOST_KEY_LINES if is_open else 0


@lru_cache(maxsize=8)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Each secret as it is and as an address would carry it."""
    values = (secret.strip() for secret in secrets)
    long = [value for value in values if len(value) >= SHORTEST_SECRET and value not in REDACTED]
    encoded = (quote(value, safe="", errors="replace") for value in long)
    return tuple(dict.fromkeys((*long, *encoded)))


def _redacted(text: str, known: tuple[str, ...]) -> tuple[str, bool]:
    """The text without its secrets, and whether another look is sure to find no more."""
    parts: list[str] = []
    end, is_certain = 0, True
    for start, stop in _joined(sorted(_secret_spans(text, known)), text):
        parts += (text[end:start], REDACTED)
        is_certain = is_certain and not (
            _may_hide(text[start - 1 : start]) or _may_hide(text[stop : stop + 1])
        )
        end = stop
    return "".join((*parts, text[end:])), is_certain


def _may_hide(letter: str) -> bool:
    return bool(letter) and not letter.isspace()


def _secret_spans(text: str, known: tuple[str, ...]) -> Iterator[_Span]:
    for value in known:
        yield from ((at, at + len(value)) for at in _places(text, value))
    yield from _tokens(text)
    yield from _private_keys(text)
    yield from _values(text)
    for found in _IN_ADDRESS.finditer(text):
        yield found.span("value" if found["value"] else "user")


def _tokens(text: str) -> Iterator[_Span]:
    words = _suspicious_words(text)
    begun = {form for begin, form in _BEGINS if begin in words} if words else ()
    for form in begun:
        for found in _matches(_PATTERNS[form], text, form.begins, text, form.before):
            yield found.span()
    for loose, before in _LOOSE:
        for found in loose.finditer(text):
            yield found.start() - before, found.end()
    if "AKIA" in words or "ASIA" in words:
        for found in _AWS_ID.finditer(text):
            yield found.span(1)


def _suspicious_words(text: str) -> str:
    """The words that may hold a token: in an ordinary text one in a hundred.

    To look for a hundred and fifty beginnings in the whole text would take ten times as long.
    """
    parted = text.encode("ascii", "replace").translate(_PARTED).split()
    words = {word for word in parted if len(word) >= _SHORTEST_TOKEN}
    jumbled = [word for word in words if _JUMBLE.search(word) and not _HASH.fullmatch(word)]
    return b" ".join(jumbled).decode()


def _private_keys(text: str) -> Iterator[_Span]:
    end = 0
    for found in _PRIVATE_KEY.finditer(text):
        yield found.span()
    for found in _KEY_END.finditer(text):
        yield _key_before(text, end, found.start()), found.end()
        end = found.end()


def _key_before(text: str, first: int, end: int) -> int:
    """Where the key begins whose end this is, when its own beginning was cut off."""
    first = max(first, end - LONGEST_KEY)
    begin = end
    while begin > first:
        line = text.rfind("\n", first, begin - 1) + 1 or first
        if not _KEY_LINE.fullmatch(text, line, begin - 1 if text[begin - 1] == "\n" else begin):
            break
        begin = line
    return begin


def _values(text: str) -> Iterator[_Span]:
    small = _small(text)
    named = _matches(_ASSIGNED, text, TELLING_NAMES, small)
    bearers = _matches(_BEARER, text, ("bearer",), small)
    flags = _matches(_FLAG, text, ("--",), small, -2)
    logins = _matches(_STORED_LOGIN, text, ("auth",), small)
    curls = _matches(_CURL_USER, text, ("-u", "--user"), small) if "curl" in small else ()
    for found in chain(named, bearers, flags, logins):
        if not _NO_SECRET.fullmatch(found["value"]):
            yield _within_quotes(found)
    for found in curls:
        if "curl" in small[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]:
            yield found.span("value")


def _matches(
    pattern: re.Pattern[str], text: str, begins: Iterable[str], searched: str, before: int = 0
) -> Iterator[re.Match[str]]:
    """What `finditer` gives, for a pattern of which it is known how a match begins."""
    end = 0
    for at in sorted(chain.from_iterable(_places(searched, begin) for begin in begins)):
        start = max(0, at - before)
        found = pattern.match(text, start) if start >= end else None
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
    """Spans that overlap or touch become one, together with a mark they cut into."""
    marks = (found.span() for found in re.finditer(re.escape(REDACTED), text))
    whole: list[_Span] = []
    for start, stop in sorted(chain(spans, marks)):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(stop, whole[-1][1]))
        else:
            whole.append((start, stop))
    yield from whole
