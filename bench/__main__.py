"""`make bench`: prints a table and writes bench/results/latest.json."""

import json
from pathlib import Path

from bench.ground.apart import measured_apart
from bench.ground.machine import machine
from bench.work import safeguards
from tests import postgres

RESULTS = Path(__file__).parent / "results" / "latest.json"

COLUMNS = (
    ("runs", "runs there"),
    ("loop_ms", "loop ms"),
    ("started_per_second", "start→paused /s"),
    ("completed_per_second", "answer→completed /s"),
    ("latency_p50_ms", "answer→step p50 ms"),
    ("latency_p95_ms", "p95 ms"),
    ("inbox_p50_ms", "50 of the inbox, ms"),
)


def main() -> None:
    rows = [*measure("sqlite", ""), *measure("postgresql", postgres.start())]
    print(table(rows))
    for name in ("sqlite", "postgresql"):
        print(growth(name, [row for row in rows if row["database"] == name]))
    of_safeguards = safeguards.compared()
    for name, figures in of_safeguards.items():
        told = ", ".join(f"{key} ×{figure['ratio']}" for key, figure in figures.items())
        print(f"{name}, with spool, database clock and short lane: {told}")
    of_pages = pages()
    print(page_table(of_pages))
    of_painting = measured_apart("bench.web.painting", "", "tests.steps")
    print("300 kB in a browser:", ", ".join(f"{key} {value}" for key, value in of_painting.items()))
    of_inbox = measured_apart("bench.web.inbox_load", "", "bench.ground.steps")
    print("inbox under 20 clients:", ", ".join(f"{key} {value}" for key, value in of_inbox.items()))
    of_growth = {}
    for name, url in (("sqlite", ""), ("postgresql", postgres.start())):
        of_growth[name] = measured_apart("bench.web.growth", url, "tests.steps")
        for place, taken in of_growth[name].items():
            print(f"{name}, {place}: {taken['many_ms']} ms, ×{taken['ratio']} of 100 runs")
    of_webhooks = measured_apart("bench.work.webhooks", "", "bench.ground.steps")
    print("webhooks:", ", ".join(f"{key} {value}" for key, value in of_webhooks.items()))
    of_slow = measured_apart("bench.web.slow_clients", "", "tests.steps")
    for name, figures in of_slow.items():
        print(f"200 slow clients, {name}:", ", ".join(f"{k} {v}" for k, v in figures.items()))
    of_context = measured_apart("bench.work.reconstitution", "", "tests.steps")
    print("reconstitution:", ", ".join(f"{key} {value}" for key, value in of_context.items()))
    of_sync = measured_apart("bench.work.sync", "", "tests.steps")
    print("sync:", ", ".join(f"{key} {value}" for key, value in of_sync.items()))
    of_isolation = measured_apart("bench.work.isolation", "", "tests.steps")
    print("isolation:", ", ".join(f"{key} {value}" for key, value in of_isolation.items()))
    of_changes = measured_apart("bench.work.changes", "", "tests.steps")
    print("code changes:", ", ".join(f"{key} {value}" for key, value in of_changes.items()))
    of_idling = measured_apart("bench.footprint.idle", "", "tests.steps")
    print("idle:", ", ".join(f"{key} {value}" for key, value in of_idling.items()))
    of_starts = measured_apart("bench.footprint.starts", "", "tests.steps")
    for name, taken in of_starts.items():
        print(f"{name}: {taken['s']} s, ×{taken['ratio']} of importing Django's")
    of_commands = measured_apart("bench.footprint.commands", "", "tests.steps")
    for name, taken in of_commands.items():
        print(f"command {name}: {taken['ms']} ms, ×{taken['ratio']} of importing Django's")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(
        json.dumps(
            {
                "machine": machine(),
                "rows": rows,
                "safeguards": of_safeguards,
                "pages": of_pages,
                "painting": of_painting,
                "inbox_load": of_inbox,
                "growth": of_growth,
                "webhooks": of_webhooks,
                "slow_clients": of_slow,
                "reconstitution": of_context,
                "sync": of_sync,
                "isolation": of_isolation,
                "code_changes": of_changes,
                "idle": of_idling,
                "starts": of_starts,
                "commands": of_commands,
            },
            indent=2,
        )
        + "\n"
    )
    print(f"written to {RESULTS.relative_to(Path.cwd())}")


def measure(name: str, database_url: str) -> list[dict[str, object]]:
    """One database in a process of its own."""
    rows = measured_apart("bench.work.workload", database_url, "bench.ground.steps")
    return [{"database": name, **row} for row in rows]


def pages() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = measured_apart("bench.web.pages", "", "tests.steps")
    return found


def table(rows: list[dict[str, object]]) -> str:
    heads = ["database", *(title for _, title in COLUMNS)]
    body = [[str(row["database"]), *(str(row[key]) for key, _ in COLUMNS)] for row in rows]
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in [heads, *body]
    )


def page_table(found: dict[str, dict[str, float]]) -> str:
    empty = found["empty"]["p50_ms"]
    return "\n".join(
        f"request page, {name}: {page['p50_ms']} ms (×{page['p50_ms'] / empty:.1f} of the empty "
        f"one), first time {page['first_ms']} ms, {page['kilobytes']} kB"
        for name, page in found.items()
    )


def growth(name: str, rows: list[dict[str, object]]) -> str:
    """Ratios within one run of the benchmark: only these may be compared."""
    few, many = rows[0], rows[-1]

    def ratio(key: str) -> float:
        return float(str(many[key])) / float(str(few[key]))

    return (
        f"{name}: with {many['runs']} runs instead of {few['runs']}, latency ×"
        f"{ratio('latency_p50_ms'):.2f}, start→paused ×{ratio('started_per_second'):.2f}, "
        f"answer→completed ×{ratio('completed_per_second'):.2f}"
    )


if __name__ == "__main__":
    main()
