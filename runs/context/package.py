"""A context package as a value: its digest, its parts as text, and what two of them differ in."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runs.domain.values import differences
from runs.domain.values.differences import Difference
from runs.domain.values.plain_json import given

Json = dict[str, object]

# What gathering itself adds: it differs each time and tells nothing about the run.
_OF_GATHERING = ("mark", "duration_ms")
_NOT_SECTIONS = (*_OF_GATHERING, "sources", "notes", "left_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """One source as two packages have it; either may be without it."""

    name: str
    before: Mapping[str, object]
    after: Mapping[str, object]

    @property
    def is_changed(self) -> bool:
        return any(self.before.get(key) != self.after.get(key) for key in ("status", "sha256"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    name: str
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    sources: Sequence[SourceChange]
    changed: Sequence[PartChange]
    equal: Sequence[str]  # names of parts

    def shape(self) -> Json:
        return {
            "equal": list(self.equal),
            "changed": {part.name: unified(part.difference) for part in self.changed},
            "sources": {
                source.name: {
                    "changed": source.is_changed,
                    "before": dict(source.before) or None,
                    "after": dict(source.after) or None,
                }
                for source in self.sources
            },
        }


def texts_of(package: Mapping[str, object]) -> dict[str, str]:
    """Each part as the text it is kept as."""
    return {name: json.dumps(value) for name, value in package.items()}


def digest_of(package: Mapping[str, object], texts: Mapping[str, str] | None = None) -> str:
    """The hash of what a package tells, however long it took to gather it.

    Whoever has the texts of the package gives them: making them takes longer than hashing them.
    """
    untimed = {name: _untimed(source) for name, source in given(package, "sources", dict).items()}
    told = {**(texts or texts_of(package)), "sources": json.dumps(untimed)}
    names = sorted(told.keys() - _OF_GATHERING)
    lines = "\n".join(f"{name} {told[name]}" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()


def sections_of(package: Mapping[str, object]) -> list[tuple[str, str]]:
    """What a package says, part by part, each as a text to read; empty ones are left out."""
    return [
        (name, readable(value))
        for name, value in package.items()
        if name not in _NOT_SECTIONS and value not in (None, "", [], {})
    ]


def compare(old: Mapping[str, object], new: Mapping[str, object]) -> Comparison:
    """What changed from one package to another, source by source and part by part."""
    before, after = given(old, "sources", dict), given(new, "sources", dict)
    names = [name for name in {**old, **new} if name not in (*_OF_GATHERING, "sources")]
    return Comparison(
        sources=[
            SourceChange(name=name, before=before.get(name) or {}, after=after.get(name) or {})
            for name in {**before, **after}
        ],
        changed=[
            PartChange(name=name, difference=_difference(old.get(name), new.get(name)))
            for name in names
            if old.get(name) != new.get(name)
        ],
        equal=[name for name in names if old.get(name) == new.get(name)],
    )


def unified(difference: Difference) -> str:
    """A difference as a patch is written: `-` is gone, `+` is new."""
    return "\n".join(_patch_lines(difference))


def readable(value: object) -> str:
    """Plain JSON as an outline: names in front, longer texts line by line under theirs."""
    return "\n".join(_outline(value))


def _untimed(source: object) -> object:
    if not isinstance(source, Mapping):
        return source
    return {key: value for key, value in source.items() if key not in _OF_GATHERING}


def _difference(old: object, new: object) -> Difference:
    return differences.compare(readable(old), readable(new))


_SIGNS = {"same": " ", "removed": "-", "added": "+"}


def _patch_lines(difference: Difference) -> Iterator[str]:
    for hunk in difference.hunks:
        old = f"{hunk.old_first},{hunk.old_last - hunk.old_first + 1}"
        new = f"{hunk.new_first},{hunk.new_last - hunk.new_first + 1}"
        yield f"@@ -{old} +{new} @@"
        for row in hunk.rows:
            yield _SIGNS[row.kind] + "".join(piece.text for piece in row.pieces)


def _outline(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _entry(str(name), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            first, *more = [*_outline(inner)] or [""]
            yield f"- {first}".rstrip()
            yield from _indented(more)
    elif isinstance(value, str):
        yield from value.splitlines()
    elif value is not None:
        yield json.dumps(value)


def _entry(name: str, value: object) -> Iterator[str]:
    """A name with a short value behind it, or with a longer one below."""
    lines = [*_outline(value)]
    if len(lines) > 1 or isinstance(value, Mapping | list | tuple):
        yield f"{name}:"
        yield from _indented(lines)
    else:
        yield f"{name}: {''.join(lines)}".rstrip()


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)
