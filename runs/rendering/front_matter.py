"""The YAML block at the top of a document, shown as it is written."""

from html import escape

from runs.domain.values import front_matter
from runs.rendering.lines import LineStamp


def split(text: str, stamp: LineStamp) -> tuple[str, str]:
    """Return the front matter as HTML, and the text with blank lines in its place."""
    block, rows = front_matter.find(text)
    if not block:
        return "", text
    height = block.rstrip("\n").count("\n") + 1
    body = "".join(_row(key, value, line, stamp) for line, key, value in rows)
    table = f'<table class="front-matter"{stamp.html(1, height)}><tbody>{body}</tbody></table>\n'
    return table, "\n" * block.count("\n") + text[len(block) :]


def _row(key: str, value: list[str], line: int, stamp: LineStamp) -> str:
    lines = stamp.html(line, line + len(value) - 1)
    text = escape("\n".join(value).strip("\n"))
    cell = f"<pre>{text}</pre>" if "\n" in text else text
    return f'<tr{lines}><th scope="row">{escape(key)}</th><td>{cell}</td></tr>'
