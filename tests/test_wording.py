"""Pages and docs use the words of the trade: what readers would stumble over stays out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STILTED = re.compile(
    r"""\b(?:
        go(?:es)?[ ]on | went[ ]on | (?:is|are|was|were)[ ]told
        | (?:a[ ]person|somebody)[ ]is[ ]asked | nobody[ ]was[ ]asked
        | whoever | remarks? | (?:left|leaves|leave)[ ]out
        | takes?[ ]it[ ]back | taken[ ]back | what[ ]became[ ]of | under[ ]way
        | at[ ]this[ ]place | with[ ]your[ ]words
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# What a browser never shows, and what a reader takes for code.
UNREAD_IN_TEMPLATES = re.compile(
    r"{%\s*comment.*?endcomment\s*%}|{#.*?#}|{%.*?%}|{{.*?}}", re.DOTALL
)
UNREAD_IN_DOCS = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\n]*\)", re.DOTALL)
TAG = re.compile(r"<[^>]*>", re.DOTALL)
READ_IN_TAGS = re.compile(r'(?:title|alt|placeholder|aria-label)="([^"]*)"')

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# The page about the code speaks its builders' language.
DOCS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")} - {ROOT / "docs/architecture.md"})


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_a_page_reads_like_the_tools_people_use(path: Path) -> None:
    html = UNREAD_IN_TEMPLATES.sub(" ", path.read_text())
    shown = TAG.sub(lambda tag: " ".join(READ_IN_TAGS.findall(tag[0])) or " ", html)

    assert found(shown) == []


@pytest.mark.parametrize("path", DOCS, ids=named)
def test_the_docs_read_like_the_tools_people_use(path: Path) -> None:
    assert found(UNREAD_IN_DOCS.sub(" ", path.read_text())) == []


def found(text: str) -> list[str]:
    spaced = " ".join(text.split())
    return [spaced[max(0, at.start() - 40) : at.end() + 20] for at in STILTED.finditer(spaced)]
