"""How the database would carry out statements, and which of them read a table from end to end."""

import re
from collections.abc import Iterable, Iterator, Sequence

from django.db import connection

# Whoever reads all of these reads only what is open.
_OF_OPEN_ROWS = re.compile(r"\b(?:one_pending_request|one_open_attempt|requests_by_time)\b")


def explained(sql: str) -> str:
    """A line for each part of the plan; what a part is made from stands indented below it."""
    is_sqlite = connection.vendor == "sqlite"
    how = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    with connection.cursor() as cursor:
        if not is_sqlite:  # few rows are soonest read one after another; is there another way?
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{how} {sql}".replace("%", "%%"), [])
        rows = cursor.fetchall()
    return _indented(rows) if is_sqlite else "\n".join(str(row[-1]) for row in rows)


def _indented(rows: Iterable[Sequence[object]]) -> str:
    depths: dict[object, int] = {0: -1}
    lines = []
    for key, parent, _, detail in rows:
        depths[key] = depths[parent] + 1
        lines.append(f"{'  ' * depths[key]}{detail}")
    return "\n".join(lines)


def read_whole(queries: Iterable[dict[str, str]], table: str) -> Iterator[str]:
    """The statements that read all of a table, with their plans."""
    for query in queries:
        sql = query["sql"]
        if not sql.lstrip("( ").upper().startswith(("SELECT", "WITH")):
            continue
        plan = explained(sql)
        if table in whole_tables(plan, sql):
            yield f"{sql}\n{plan}"


def whole_tables(plan: str, sql: str) -> set[str]:
    """The tables that a plan reads from end to end, itself or along an index.

    Who walks along an index without a condition ends early only where there is a limit, and
    nothing that needs all rows first.
    """
    lines = plan.splitlines()
    has_limit = re.search(r"\bLIMIT\b", sql, re.IGNORECASE) is not None
    found = set()
    for place, line in enumerate(lines):
        if _OF_OPEN_ROWS.search(line):
            continue
        if table := re.search(r"\b(?:SCAN|Seq Scan on) (faber_\w+)(?!\S)(?! USING| VIRTUAL)", line):
            found.add(table[1])
        elif along := re.search(r"\bSCAN (faber_\w+) USING ", line):
            if not has_limit or _is_sorted_by_sqlite(lines, place):
                found.add(along[1])
        elif along := re.search(r"Index (?:Only )?Scan .*\bon (faber_\w+)", line):
            is_whole = "Index Cond" not in "".join(lines[place + 1 : place + 2])
            if is_whole and _is_sorted_by_postgresql(lines, place):
                found.add(along[1])
    return found


def _is_sorted_by_sqlite(lines: Sequence[str], place: int) -> bool:
    """Whether a tree is made of what is read; it stands behind that, as deep."""
    depth = _depth(lines[place])
    for line in lines[place + 1 :]:
        if _depth(line) < depth:
            return False
        if _depth(line) == depth and re.search(r"USE TEMP B-TREE FOR (?:GROUP|ORDER)", line):
            return True
    return False


def _is_sorted_by_postgresql(lines: Sequence[str], place: int) -> bool:
    """Whether what is right above needs all rows first.

    A join above may read all of few rows where it would not of many.
    """
    above = next(
        (line for line in reversed(lines[:place]) if _depth(line) < _depth(lines[place])), ""
    )
    return re.search(r"(?<!Incremental )\bSort +\(|Aggregate +\(", above) is not None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" ->"))
