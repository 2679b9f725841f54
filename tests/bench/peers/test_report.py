from bench.peers import report
from bench.peers.contender_table import Contender, Store
from bench.peers.driving import Round

OURS = Contender(name="faber", store=Store.SQLITE)
THEIRS = Contender(name="burr", store=Store.SQLITE, needs=("burr",))
ELSEWHERE = Contender(name="burr", store=Store.POSTGRESQL, needs=("burr",))


def measured(started: float, weight: int | None = None) -> Round:
    return Round(
        started_per_second=started,
        completed_per_second=started / 2,
        delays_ms=[1000 / started],
        bytes_per_run=weight,
        loop_ms=80,
        load=0.5,
        versions={},
    )


def cells(table: str, name: str) -> list[str]:
    return next(line for line in table.splitlines() if line.strip().startswith(name)).split()


def test_a_peer_is_compared_with_ours_on_the_same_store_by_the_medians() -> None:
    rounds = {
        OURS: [measured(90, 3000), measured(100), measured(200)],
        THEIRS: [measured(50, 1500)],
        ELSEWHERE: [measured(10)],
    }

    table = report.table(rounds)

    name = ["burr", "sqlite", "1"]
    figures = ["50.0", "2.00", "25.0", "2.00", "20.0", "20.0", "0.50", "1500", "2.00", "80", "0.5"]
    assert cells(table, "burr sqlite") == [*name, *figures]
    alone = ["burr", "postgresql", "1", "10.0", "5.0", "100.0", "100.0", "80", "0.5"]
    assert cells(table, "burr postgresql") == alone


def test_who_failed_in_every_round_is_left_out_of_the_table() -> None:
    assert "burr" not in report.table({OURS: [measured(90)], THEIRS: []})
