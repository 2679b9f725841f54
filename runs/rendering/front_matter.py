"""The YAML block at the top of a document, shown as it is written.

It is split into rows but never loaded: YAML would turn `no` into False and `1.10` into 1.1,
and a reader decides on what the file says.
"""

import re
from html import escape

from runs.rendering.lines import LineStamp

_BLOCK = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_KEY = re.compile(r"""([\w."'/-]++(?: [\w."'/-]++)*+)[ \t]*+:(?=\s|\Z)[ \t]*""")
_MAX_ROWS = 500
_CONTINUES = re.compile(r"[ \t#]|-[ \t]|\Z")


def split(text: str, stamp: LineStamp) -> tuple[str, str]:
    """Return the front matter as HTML, and the text with blank lines in its place."""
    block = _BLOCK.match(text)
    rows = _rows(block[1].split("\n")[:-1]) if block else []
    if not block or not rows or len(rows) > _MAX_ROWS:
        return "", text
    height = block[0].rstrip("\n").count("\n") + 1
    body = "".join(_row(key, value, line, stamp) for line, key, value in rows)
    table = f'<table class="front-matter"{stamp.html(1, height)}><tbody>{body}</tbody></table>\n'
    return table, "\n" * block[0].count("\n") + text[block.end() :]


def _rows(lines: list[str]) -> list[tuple[int, str, list[str]]]:
    """First line, key and value lines of each entry; nothing when it is not a mapping."""
    rows: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(lines, start=2):
        if key := _KEY.match(line):
            rows.append((number, key[1], [line[key.end() :]]))
        elif rows and _CONTINUES.match(line):
            rows[-1][2].append(line)
        else:
            return []
    return rows


def _row(key: str, value: list[str], line: int, stamp: LineStamp) -> str:
    lines = stamp.html(line, line + len(value) - 1)
    text = escape("\n".join(value).strip("\n"))
    cell = f"<pre>{text}</pre>" if "\n" in text else text
    return f'<tr{lines}><th scope="row">{escape(key)}</th><td>{cell}</td></tr>'
