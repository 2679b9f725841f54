"""Lays out what a run's steps were told: a package, a difference, a replay."""

import shlex
from collections.abc import Iterator, Mapping

from django.template.defaultfilters import filesizeformat

from runs.context.package import Comparison, SourceChange, unified
from runs.context.reader import PackageShown, PackageSummary, SourceShown
from runs.terminal.console import as_text
from runs.terminal.layout import card, clean, columns, one_line, words
from runs.worker.replay import Replay


def package_text(run_id: str, shown: PackageShown, *, colour: bool) -> str:
    """Where a package came from, then what it says."""
    summary = shown.told
    return "\n\n".join(
        [
            _head(run_id, summary),
            *_sources(summary, colour=colour),
            *_notes(summary),
            *_left_out(summary),
            *(_section(words(part.name), part.text) for part in shown.sections),
        ]
    )


def comparison_text(old: int, new: int, found: Comparison, *, colour: bool) -> str:
    """What changed from one package to the other, part by part."""
    table = columns(
        ("SOURCE", f"PACKAGE {old}", f"PACKAGE {new}", "CONTENT"),
        [_compared(source) for source in found.sources],
        colour=colour,
    )
    changes = (_section(words(part.name), unified(part.difference)) for part in found.changed)
    equal = ", ".join(words(name) for name in found.equal)
    parts = [table if found.sources else "", *changes, f"Unchanged: {equal}." if equal else ""]
    return "\n\n".join(part for part in parts if part)


def replay_text(run_id: str, shown: Replay) -> str:
    """What the executor got; an agent is told the prompt, everybody else the briefing."""
    parts = [
        f"{run_id}  {shown.key}, attempt {shown.attempt}, package {shown.number}\n"
        "Dry run: this is the input of the executor."
    ]
    if shown.argv:
        parts.append(_section("program", shlex.join(shown.argv)))
    if shown.is_for_agent:
        parts.append(_section("standard input", shown.stdin))
    else:
        parts.append(_section("briefing", as_text(shown.briefing)))
    return "\n\n".join(parts)


def _head(run_id: str, summary: PackageSummary) -> str:
    attempt = summary.attempt
    gathered = "" if summary.duration_ms is None else f" in {summary.duration_ms} ms"
    return card(
        f"{run_id}  package {summary.number}",
        [
            ("Step", f"{attempt.key}, attempt {attempt.number}, {attempt.action}"),
            ("Gathered", f"{summary.created_at:%Y-%m-%d %H:%M} UTC{gathered}"),
            ("Size", _size(summary.size)),
            ("Digest", summary.digest),
        ],
    )


def _sources(summary: PackageSummary, *, colour: bool) -> Iterator[str]:
    if summary.sources:
        header = ("SOURCE", "STATUS", "SIZE", "DURATION", "TRUST", "SHA-256")
        yield columns(header, [_source(each) for each in summary.sources], colour=colour)


def _source(source: SourceShown) -> tuple[object, ...]:
    return (
        source.name,
        source.status,
        _size(source.size) if source.size else "",
        "" if source.status == "off" else f"{source.duration_ms} ms",
        source.trust,
        source.sha256[:12],
    )


def _notes(summary: PackageSummary) -> Iterator[str]:
    if summary.notes:
        yield _listed("Notes", (_note(note) for note in summary.notes))


def _note(note: Mapping[str, object]) -> str:
    return f"{note.get('level', 'info')}: {note.get('source', '')}: {note.get('message', '')}"


def _left_out(summary: PackageSummary) -> Iterator[str]:
    if summary.left_out:
        yield _listed("Omitted", (_gone(gone) for gone in summary.left_out))


def _gone(gone: Mapping[str, object]) -> str:
    size = gone.get("bytes")
    how_much = f" ({_size(size)})" if isinstance(size, int) and size else ""
    return f"{gone.get('source', '')}: {gone.get('what', '')}{how_much} – {gone.get('why', '')}"


def _listed(title: str, lines: Iterator[str]) -> str:
    return "\n".join([title, *(f"  {one_line(line, 500)}" for line in lines)])


def _compared(source: SourceChange) -> tuple[object, ...]:
    sides = (_side(side) for side in (source.before, source.after))
    return (source.name, *sides, "changed" if source.is_changed else "unchanged")


def _side(source: Mapping[str, object]) -> str:
    status, size = str(source.get("status") or "–"), source.get("bytes")
    return f"{status}, {_size(size)}" if isinstance(size, int) and size else status


def _section(title: str, text: str) -> str:
    return f"--- {title} ---\n{clean(text)}"


def _size(number: int) -> str:
    return filesizeformat(number).replace("\N{NO-BREAK SPACE}", " ")
