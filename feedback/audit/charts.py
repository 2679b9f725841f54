"""Values to the geometry of a small chart; what draws it decides how it looks."""

from collections.abc import Sequence
from dataclasses import dataclass

ROW = 46  # px of one bar with the line of words above it
BAR = 10
_WORDS = 16  # px from the top of a row to where its words stand
COLUMNS_HEIGHT = 120
_THINNEST = 0.4  # per cent; what is there can be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One thing compared with others: its typical value, and what it reaches at worst."""

    label: str
    typical: float
    worst: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    measure: Measure
    words_y: int
    bar_y: int
    typical: str  # a width, in per cent of the chart
    worst: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Lying bars under their words; as wide as the page, so only heights are in pixels."""

    bars: Sequence[Bar]
    height: int
    thickness: int = BAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    label: str
    value: int
    x: str
    width: str
    y: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    columns: Sequence[Column]
    most: int
    height: int = COLUMNS_HEIGHT

    @property
    def total(self) -> int:
        return sum(column.value for column in self.columns)


def bars(measures: Sequence[Measure]) -> Bars:
    widest = max((max(m.typical, m.worst) for m in measures), default=0)
    return Bars(
        bars=[
            Bar(
                measure=measure,
                words_y=number * ROW + _WORDS,
                bar_y=number * ROW + _WORDS + 8,
                typical=_share(measure.typical, widest),
                worst=_share(measure.worst, widest),
            )
            for number, measure in enumerate(measures)
        ],
        height=len(measures) * ROW,
    )


def columns(values: Sequence[tuple[str, int]]) -> Columns:
    most = max((value for _, value in values), default=0)
    step = 100 / len(values) if values else 0
    return Columns(
        columns=[
            _column(label, value, number * step, step, most)
            for number, (label, value) in enumerate(values)
        ],
        most=most,
    )


def _column(label: str, value: int, x: float, step: float, most: int) -> Column:
    # A day on which something happened is never an empty place.
    height = max(2, round(value * COLUMNS_HEIGHT / most)) if value else 0
    return Column(
        label=label,
        value=value,
        x=_per_cent(x + step * 0.1),
        width=_per_cent(step * 0.8),
        y=COLUMNS_HEIGHT - height,
        height=height,
    )


def _share(value: float, widest: float) -> str:
    share = value * 100 / widest if widest else 0
    return _per_cent(max(_THINNEST, share))


def _per_cent(value: float) -> str:
    return f"{round(value, 2):g}%"
