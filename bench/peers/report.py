"""The rounds as one table: medians, and ours divided by theirs on the same store."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.peers.contender_table import Contender
from bench.peers.driving import Round

HEADS = (
    "contender",
    "rounds",
    "start→paused /s",
    "FABER ×",
    "answer→completed /s",
    "FABER ×",
    "answer→step p50 ms",
    "p95 ms",
    "FABER ÷",
    "bytes a paused run",
    "FABER ÷",
    "loop ms",
    "load",
)
OURS = "faber"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The medians of one contender."""

    started: float
    completed: float
    delay: float
    late: float
    weight: int | None
    loop: float
    load: float

    @classmethod
    def of(cls, rounds: Sequence[Round]) -> "Summary":
        delays = sorted(each for one in rounds for each in one.delays_ms)
        return cls(
            started=statistics.median(one.started_per_second for one in rounds),
            completed=statistics.median(one.completed_per_second for one in rounds),
            delay=statistics.median(delays),
            late=delays[int(len(delays) * 0.95)],
            weight=next((one.bytes_per_run for one in rounds if one.bytes_per_run), None),
            loop=statistics.median(one.loop_ms for one in rounds),
            load=statistics.median(one.load for one in rounds),
        )


def table(measured: Mapping[Contender, Sequence[Round]]) -> str:
    known = {each: Summary.of(rounds) for each, rounds in measured.items() if rounds}
    ours = {each.store: summary for each, summary in known.items() if each.name == OURS}
    body = [
        _line(each, len(measured[each]), summary, ours.get(each.store))
        for each, summary in known.items()
    ]
    widths = [max(len(line[place]) for line in (HEADS, *body)) for place in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in (HEADS, *body)
    )


def _line(contender: Contender, rounds: int, its: Summary, ours: Summary | None) -> tuple[str, ...]:
    is_other = ours is not None and ours is not its
    return (
        contender.key,
        str(rounds),
        f"{its.started:.1f}",
        f"{ours.started / its.started:.2f}" if ours and is_other else "",
        f"{its.completed:.1f}",
        f"{ours.completed / its.completed:.2f}" if ours and is_other else "",
        f"{its.delay:.1f}",
        f"{its.late:.1f}",
        f"{ours.delay / its.delay:.2f}" if ours and is_other else "",
        str(its.weight or ""),
        f"{ours.weight / its.weight:.2f}"
        if ours and is_other and ours.weight and its.weight
        else "",
        f"{its.loop:.0f}",
        f"{its.load:.1f}",
    )
