"""What the attempts of a run were told, as pages and commands show it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models.fields.json import KT

from runs.context import store
from runs.context.package import Comparison, SourceChange, sections_of
from runs.domain.values.differences import Difference, Hunk
from runs.domain.values.errors import NotFound
from runs.domain.values.plain_json import given
from runs.models import ContextPackage, Run, StepAttempt

SHOWN_CHARACTERS = 100_000  # of one section
SHOWN_ROWS = 2_000  # of one part's difference
SHORT = 60  # so many changed lines are shown without being asked for
NEARBY = 4  # packages on either side, to go on to
_OF_ATTEMPT = ("phase", "step", "number", "action")

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShown:
    name: str
    status: str
    size: int
    duration_ms: int
    trust: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSummary:
    """A package without its parts: where it came from, and what is missing in it."""

    number: int  # within the run
    attempt: StepAttempt
    title: str  # of its step
    digest: str
    created_at: datetime
    duration_ms: int | None
    sources: Sequence[SourceShown]
    notes: Sequence[Mapping[str, object]]
    left_out: Sequence[Mapping[str, object]]

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)

    @property
    def found(self) -> int:
        return sum(1 for source in self.sources if source.status == "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    name: str
    text: str

    @property
    def beginning(self) -> str:
        """As much of it as a page can hold."""
        return self.text[:SHOWN_CHARACTERS]

    @property
    def is_cut(self) -> bool:
        return len(self.text) > SHOWN_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class PartShown:
    name: str
    added: int
    removed: int
    hunks: Sequence[Hunk]
    is_cut: bool

    @property
    def is_short(self) -> bool:
        return self.added + self.removed <= SHORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """What one package tells otherwise than another."""

    other: PackageSummary
    sources: Sequence[SourceChange]
    changed: Sequence[PartShown]
    equal: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageShown:
    told: PackageSummary
    others: Sequence[PackageSummary]
    document: Json
    differing: Differing | None = None

    @property
    def sections(self) -> Sequence[Section]:
        return [Section(name=name, text=text) for name, text in sections_of(self.document)]

    @property
    def compared_with(self) -> PackageSummary | None:
        """The package that was asked for, else the one before, which people most often want."""
        if self.differing:
            return self.differing.other
        earlier = [other for other in self.others if other.number < self.told.number]
        return earlier[-1] if earlier else None

    @property
    def nearby(self) -> Sequence[PackageSummary]:
        every = sorted([self.told, *self.others], key=lambda each: each.number)
        first = max(0, self.told.number - 1 - NEARBY)
        return every[first : self.told.number + NEARBY]


def listed(run: Run) -> list[PackageSummary]:
    """Every package of a run, oldest first, without fetching what is in it."""
    titles = {unit.key: unit.step.title for unit in run.frozen_plan.units}
    shown = (
        *("run_id", "digest", "created_at", "content"),
        *(f"attempt__{name}" for name in _OF_ATTEMPT),
    )
    rows = run.packages.select_related("attempt").only(*shown).order_by("id")
    # Those of earlier releases have it elsewhere, with much else.
    overviews = {f"its_{name}": KT(f"manifest__inline__{name}") for name in store.OVERVIEW}
    return [
        _told(row, number, titles.get(row.attempt.key, row.attempt.step))
        for number, row in enumerate(rows.annotate(**overviews), start=1)
    ]


def package_of(run: Run, number: int, *, other: str = "") -> PackageShown:
    """One package with everything in it, compared with another of the run when one is named."""
    row = store.numbered(run, number)
    package, told = store.load(row), listed(run)
    return PackageShown(
        told=told[number - 1],
        others=[each for each in told if each.number != number],
        document=package,
        differing=_differing(run, told, other, package) if other else None,
    )


def whole(run: Run, number: int) -> Json:
    return store.load(store.numbered(run, number))


def newest(run: Run) -> Json | None:
    """The package the last attempt was given; None when no attempt was given one yet."""
    row = store.newest(run)
    return store.load(row) if row else None


def compared(run: Run, old: int, new: int) -> Comparison:
    return store.compare(whole(run, old), whole(run, new))


def _differing(run: Run, told: Sequence[PackageSummary], other: str, package: Json) -> Differing:
    if not (other.isascii() and other.isdecimal()):
        raise NotFound(f"There is no package {other[:50]!r}.")
    found = store.compare(whole(run, int(other)), package)
    return Differing(
        other=told[int(other) - 1],
        sources=found.sources,
        changed=[_part(part.name, part.difference) for part in found.changed],
        equal=found.equal,
    )


def _part(name: str, difference: Difference) -> PartShown:
    hunks, left = [], SHOWN_ROWS
    for hunk in difference.hunks:
        if left > 0:
            hunks.append(replace(hunk, rows=hunk.rows[:left]))
        left -= len(hunk.rows)
    return PartShown(
        name=name,
        added=difference.added,
        removed=difference.removed,
        hunks=hunks,
        is_cut=left < 0,
    )


def _told(row: ContextPackage, number: int, title: str) -> PackageSummary:
    known = _overview(row)
    duration = known.get("duration_ms")
    return PackageSummary(
        number=number,
        attempt=row.attempt,
        title=title,
        digest=row.digest,
        created_at=row.created_at,
        duration_ms=duration if isinstance(duration, int) else None,
        sources=[_source(name, found) for name, found in given(known, "sources", dict).items()],
        notes=given(known, "notes", list),
        left_out=given(known, "left_out", list),
    )


def _overview(row: ContextPackage) -> Json:
    if row.content:
        return store.overview_of(bytes(row.content))
    return {name: _read(getattr(row, f"its_{name}")) for name in store.OVERVIEW}


def _read(text: str | None) -> object:
    return json.loads(text) if text else None


def _source(name: str, found: Mapping[str, object]) -> SourceShown:
    return SourceShown(
        name=name,
        status=given(found, "status", str),
        size=given(found, "bytes", int),
        duration_ms=given(found, "duration_ms", int),
        trust=given(found, "trust", str),
        sha256=given(found, "sha256", str),
    )
