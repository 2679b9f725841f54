"""What rendering finds out about one document."""

from dataclasses import dataclass, field

from runs.rendering.bounds import Work
from runs.rendering.hidden import Hidden
from runs.rendering.lines import LineStamp
from runs.rendering.pictures import Pictures
from runs.rendering.raw_html import RawHtml


@dataclass(frozen=True, slots=True)
class TocEntry:
    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Document:
    work: Work = field(default_factory=Work)
    stamp: LineStamp = field(default_factory=LineStamp)
    hidden: Hidden = field(default_factory=Hidden)
    raw_html: RawHtml = field(default_factory=RawHtml)
    used_labels: set[str] = field(default_factory=set)
    toc: list[TocEntry] = field(default_factory=list)
    pictures: Pictures = field(default_factory=Pictures)

    @classmethod
    def showing(cls, pictures: Pictures, stamp: LineStamp) -> "Document":
        return cls(stamp=stamp, pictures=pictures, raw_html=RawHtml(pictures, stamp))
