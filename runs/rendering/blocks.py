"""Markdown blocks as GitHub reads them, each with its source lines.

Python-Markdown flattens lists nested by two spaces and keeps no positions. So markdown-it-py
reads the source; addresses in the text, the tree and its HTML stay Python-Markdown's.
"""

import re
from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import ElementTree

from markdown import Markdown
from markdown.blockparser import BlockParser
from markdown.extensions import Extension
from markdown.treeprocessors import InlineProcessor
from markdown.util import Registry
from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import html_block as commonmark_html_block

from runs.rendering import bounds
from runs.rendering.document import Document
from runs.rendering.headings import Headings
from runs.rendering.tree import Tree

_OPENS_HTML = re.compile(
    rf"<(?:!--|(?:script|pre|style|textarea)(?=[\s>]|$)|/?(?:{'|'.join(block_names)})(?=\s|/?>|$))",
    re.IGNORECASE | re.ASCII,
)
_OPTIONS = {
    "alerts": True,
    "html": True,
    "maxNesting": bounds.MAX_NESTING,
    "store_labels": True,
    "strikethrough_single_tilde": True,
    "tasklists": True,
}


class GfmBlocks(Extension):
    """Takes the place of Python-Markdown's block parser."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document = document

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        # They would expand the tabs of code and take HTML blocks out of their place.
        md.preprocessors.deregister("normalize_whitespace")
        md.preprocessors.deregister("html_block")
        md.parser = TokenBlockParser(md, self._document)
        # In text that is already read, only what other extensions add is looked for.
        md.inlinePatterns = Registry()
        md.treeprocessors.register(InlineProcessor(md), "inline", 20)
        md.treeprocessors.register(Headings(md, self._document.toc), "headings", 14)


class TokenBlockParser(BlockParser):
    """Builds the element tree from the tokens of markdown-it-py."""

    def __init__(self, md: Markdown, document: Document) -> None:
        super().__init__(md)
        self._document = document
        self._found: dict[str, Any] = {}

    def parseDocument(self, lines: Iterable[str]) -> ElementTree:  # noqa: N802
        source = list(lines)
        tree = Tree(self.md, self._document, source)
        for token in self._tokens("\n".join(source)):
            tree.add(token)
        self.root = tree.root
        self._note_idle_definitions()
        return ElementTree(self.root)

    def _tokens(self, text: str) -> bounds.Tokens:
        work = self._document.work
        reader = _reader()
        tokens = bounds.Tokens(work)
        reader.block.parse(text, reader, self._found, tokens)
        for token in tokens:
            if token.type == "inline":
                work.spend_on_text(token.content)
                token.children = []
                reader.inline.parse(token.content, reader, self._found, token.children)
        return tokens

    def _note_idle_definitions(self) -> None:
        """Link definitions are not shown unless a link uses them: `[//]: # (a remark)`."""
        first = self._found.get("references", {})
        idle = [first[label] for label in first.keys() - self._document.used_labels]
        for definition in idle + self._found.get("duplicate_refs", []):
            start, end = definition["map"]
            self._document.hidden.note("An unused link definition", start + 1, end)


class _BlockReader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        """The sanitiser decides about addresses; here a refusal would only change the text."""
        return True


def _reader() -> MarkdownIt:
    reader = _BlockReader("commonmark", _OPTIONS).enable(["table", "strikethrough"])
    interrupts = ["paragraph", "reference", "blockquote"]
    reader.block.ruler.at("html_block", _html_block, {"alt": interrupts})
    return reader


def _html_block(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Only known block tags: `<name>` on a line of its own is text with a placeholder."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    return bool(_OPENS_HTML.match(text)) and commonmark_html_block(state, line, end, silent)
