"""The YAML block at the top of a document, split into rows but never loaded.

YAML would turn `no` into False and `1.10` into 1.1; who reads it decides on what the file says.
"""

import re

_BLOCK = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_KEY = re.compile(r"""([\w."'/-]++(?: [\w."'/-]++)*+)[ \t]*+:(?=\s|\Z)[ \t]*""")
_MAX_ROWS = 500
_CONTINUES = re.compile(r"[ \t#]|-[ \t]|\Z")

Row = tuple[int, str, list[str]]  # its first line, its key, and the lines of its value


def find(text: str) -> tuple[str, list[Row]]:
    """The block as it is written and its rows; nothing when the text does not begin with one."""
    block = _BLOCK.match(text)
    rows = _rows(block[1].split("\n")[:-1]) if block else []
    if not block or not rows or len(rows) > _MAX_ROWS:
        return "", []
    return block[0], rows


def _rows(lines: list[str]) -> list[Row]:
    """Nothing when it is not a mapping."""
    rows: list[Row] = []
    for number, line in enumerate(lines, start=2):
        if key := _KEY.match(line):
            rows.append((number, key[1], [line[key.end() :]]))
        elif rows and _CONTINUES.match(line):
            rows[-1][2].append(line)
        else:
            return []
    return rows
