"""Colours for code, as classes."""

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from time import perf_counter

import pygments
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType

# Lexers are regular expressions, and some never end on text made for that: these were tried
# with such text. `console`, `ini`, `pycon` and `terraform` did not pass.
LANGUAGES = frozenset(
    """
    bash c c++ cpp cs csharp css diff docker dockerfile go golang graphql html java javascript js
    json json5 jsx kotlin make makefile markdown md php py python python3 rb rs ruby rust scss sh
    shell sql swift toml ts tsx typescript xml yaml yml zsh
    """.split()  # noqa: SIM905
)
_MAX_CHARACTERS = 16 * 1024
# Unlike the work of rendering this may be timed: when it runs out only colours are missing.
_SECONDS = 0.2

Token = tuple[str, str]  # a class, and the text that has it

_formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


class Highlighter:
    """Colours the code of one document, as far as its time goes."""

    def __init__(self) -> None:
        self._left = _SECONDS

    def html(self, code: str, language: str) -> str:
        language = language.lower()
        if language not in LANGUAGES or len(code) > _MAX_CHARACTERS or self._left <= 0:
            return escape(code)
        lexer = _lexer(language)  # loading one is slow, and no document's fault
        start = perf_counter()
        tokens = lexer.get_tokens(code)
        try:
            return pygments.format(_until(start + self._left, tokens), _formatter)
        except TimeoutError:
            return escape(code)
        finally:
            self._left -= perf_counter() - start

    def tokens(self, code: str, language: str) -> list[Token]:
        """The code in pieces, each with its class; joined they are the code."""
        language = language.lower()
        if language not in LANGUAGES or len(code) > _MAX_CHARACTERS or self._left <= 0:
            return [("", code)]
        lexer = _lexer(language)
        start = perf_counter()
        try:
            found = list(_until(start + self._left, lexer.get_tokens(code)))
        except TimeoutError:
            return [("", code)]
        finally:
            self._left -= perf_counter() - start
        return [(STANDARD_TYPES.get(kind, ""), text) for kind, text in found]


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def _until(
    end: float, tokens: Iterable[tuple[_TokenType, str]]
) -> Iterator[tuple[_TokenType, str]]:
    for token in tokens:
        if perf_counter() > end:
            raise TimeoutError
        yield token
