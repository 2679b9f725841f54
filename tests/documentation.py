"""The code blocks of the documentation, each with the mark that stands above it.

A block is checked by its kind (a workflow, a response), has a name that a test asks for
(`<!-- block: name -->`), or says why nothing executes it (`<!-- not run: why -->`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from tests.commands import Answer, faber

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")))

_BLOCK = re.compile(
    r"(?:^[ ]*<!--[ ](?P<mark>[^\n]+?)[ ]-->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def name(self) -> str:
        return self.mark.removeprefix("block: ") if self.mark.startswith("block: ") else ""

    @property
    def not_run(self) -> str:
        """Why nothing executes it."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @cached_property
    def document(self) -> object:
        """What is written there; JSON is YAML too."""
        return yaml.safe_load(self.text) if self.language in ("json", "yaml") else None

    def has(self, *keys: str) -> bool:
        return isinstance(self.document, dict) and all(key in self.document for key in keys)


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(block for page in PAGES for block in _on(page))


def block(name: str) -> Block:
    """The one block of this name."""
    (found,) = [each for each in blocks() if each.name == name]
    return found


def executed(name: str, values: Mapping[str, str] | None = None) -> list[str]:
    """Every `faber` command of a block, in this process; what each printed."""
    return [_printed(words, faber(*words)) for words in commands(name, values)]


def commands(name: str, values: Mapping[str, str] | None = None) -> Iterator[list[str]]:
    """The words after `faber` of each line.

    Values take the place of what a reader would put there: ids, folders.
    """
    text = block(name).text.replace("\\\n", " ")
    for shown, value in (values or {}).items():
        text = text.replace(shown, value)
    for line in text.splitlines():
        if words := shlex.split(line, comments=True):
            assert words[0] == "faber", words
            yield words[1:]


def _printed(words: list[str], answer: Answer) -> str:
    assert answer.code == 0, f"{words}: {answer.code} {answer.out}{answer.err}"
    return answer.out


def _on(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        indent = found["indent"]
        yield Block(
            page=page,
            line=text.count("\n", 0, found.start("indent")) + 1,
            language=found["language"],
            text=re.sub(rf"^{indent}", "", found["text"], flags=re.MULTILINE),
            mark=found["mark"] or "",
        )
