"""Markdown to HTML that is safe to put on a page; pages and their layout are elsewhere."""

import logging
import re
from dataclasses import dataclass

from django.utils.safestring import SafeString
from markdown import Markdown
from pymdownx.magiclink import MagiclinkExtension

from runs.rendering import front_matter
from runs.rendering.blocks import GfmBlocks
from runs.rendering.bounds import MAX_SHOWN, CannotRenderError
from runs.rendering.document import Document, TocEntry
from runs.rendering.hidden import Hidden
from runs.rendering.lines import LineStamp
from runs.rendering.pictures import Pictures
from runs.rendering.sanitising import plain, sanitised

__all__ = ["Pictures", "Rendered", "TocEntry", "render"]

logger = logging.getLogger(__name__)

# Python-Markdown marks its own places with U+0002 and U+0003; half a surrogate pair cannot be
# written as UTF-8.
_UNUSABLE = re.compile("[\x00\x02\x03\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    html: SafeString
    toc: tuple[TocEntry, ...]
    hidden: tuple[str, ...]  # sentences about what a reader of the page cannot see
    is_plain: bool = False  # it could not be laid out


def render(markdown: str, *, line_shift: int = 0, pictures: Pictures | None = None) -> Rendered:
    """Render any text; what cannot be laid out is shown as plain text and says why."""
    text = _readable(markdown[:MAX_SHOWN])
    try:
        return _laid_out(text, line_shift, pictures or Pictures())
    except CannotRenderError as error:
        why = str(error)
    except Exception:
        # The text is hostile until proven otherwise, and the parsers are not ours: a page that
        # shows the plain text is better than a page that fails.
        logger.exception("A document could not be rendered.")
        why = "Could not render this document."
    hidden = Hidden()
    hidden.note_characters(text)
    if len(markdown) > MAX_SHOWN:
        first, last = text.count("\n") + 1, markdown.count("\n") + 1
        hidden.note("The rest of the document", first, last)
    return Rendered(html=plain(text, why), toc=(), hidden=hidden.sentences(), is_plain=True)


def _laid_out(text: str, line_shift: int, pictures: Pictures) -> Rendered:
    document = Document.showing(pictures, LineStamp(shift=line_shift))
    document.work.spend_on_lines(text)
    matter, body = front_matter.split(text, document.stamp)
    blocks = GfmBlocks(document)
    converter = Markdown(extensions=[blocks, MagiclinkExtension()], output_format="html")
    markup = matter + converter.convert(body)
    document.hidden.note_characters(text)
    return Rendered(
        html=sanitised(markup, document.stamp),
        toc=tuple(document.toc),
        hidden=document.hidden.sentences(),
    )


def _readable(markdown: str) -> str:
    text = markdown.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _UNUSABLE.sub("\ufffd", text)
