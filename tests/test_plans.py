"""What a plan says about how much is read."""

import pytest

from tests.plans import whole_tables

RUN = "faber_runs_run"
EVERY = "SELECT * FROM faber_runs_run ORDER BY target"
FIRST = f"{EVERY} LIMIT 50"


@pytest.mark.parametrize(
    ("sql", "plan", "is_whole"),
    [
        (FIRST, f"SCAN {RUN}", True),
        (FIRST, f"SCAN {RUN} USING INDEX by_age", False),
        (EVERY, f"SCAN {RUN} USING COVERING INDEX by_age", True),
        (FIRST, f"SCAN {RUN} USING INDEX by_age\nUSE TEMP B-TREE FOR ORDER BY", True),
        (FIRST, f"SCAN {RUN} USING INDEX by_age\nUSE TEMP B-TREE FOR GROUP BY", True),
        (FIRST, f"CO-ROUTINE a\n  SCAN {RUN} USING INDEX b\nUSE TEMP B-TREE FOR GROUP BY", False),
        (FIRST, f"SEARCH {RUN} USING INDEX a (b=?)\nUSE TEMP B-TREE FOR ORDER BY", False),
        (FIRST, f"Seq Scan on {RUN}  (cost=0..9)", True),
        (FIRST, f"Limit  (cost=1)\n  ->  Index Scan using a on {RUN}  (c)", False),
        (FIRST, f"Sort  (cost=1)\n  ->  Index Scan using a on {RUN}  (c)", True),
        (FIRST, f"Limit  (c)\n  ->  Sort  (c)\n    ->  Index Scan using a on {RUN}  (c)", True),
        (FIRST, f"Sort  (c)\n  ->  Limit  (c)\n    ->  Index Scan using a on {RUN}  (c)", False),
        (
            FIRST,
            f"Limit  (c)\n  -> Incremental Sort  (c)\n    -> Index Scan using a on {RUN}  (c)",
            False,
        ),
        (EVERY, f"Index Scan using one_open_attempt on {RUN}  (c)", False),
        (EVERY, f"Aggregate  (c)\n  ->  Index Only Scan using a on {RUN}  (c)", True),
        (EVERY, f"Index Scan using a on {RUN}  (c)\n  Index Cond: (status = 'x')", False),
    ],
)
def test_who_sorts_or_takes_all_along_an_index_reads_the_whole_table(
    sql: str, plan: str, is_whole: bool
) -> None:
    assert (RUN in whole_tables(plan, sql)) is is_whole
