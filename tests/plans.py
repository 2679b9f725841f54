"""How the database would carry out statements, and which of them read a table from end to end."""

import re
from collections.abc import Iterable, Iterator

from django.db import connection

# SQLite says `SCAN table` where it reads all of it, and names an index where it walks along one.
_WHOLE = {
    "sqlite": r"SCAN (faber_\w+)(?! USING| VIRTUAL)\b(?!\S)",
    "postgresql": r"Seq Scan on (faber_\w+)",
}


def explained(sql: str) -> str:
    is_sqlite = connection.vendor == "sqlite"
    how = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    with connection.cursor() as cursor:
        if not is_sqlite:  # few rows are soonest read one after another; is there another way?
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{how} {sql}".replace("%", "%%"), [])
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def read_whole(queries: Iterable[dict[str, str]], table: str) -> Iterator[str]:
    """The statements that read all of a table, with their plans."""
    for query in queries:
        if not query["sql"].lstrip("( ").upper().startswith(("SELECT", "WITH")):
            continue
        plan = explained(query["sql"])
        if table in re.findall(_WHOLE[connection.vendor], plan):
            yield f"{query['sql']}\n{plan}"
