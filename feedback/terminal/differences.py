"""Lays code changes out for a terminal."""

from collections.abc import Iterable

from feedback.requests.code_changes import patches_of
from runs.changes.values import ChangedFile, Changes
from runs.domain.values.numbers import number_of
from runs.terminal.console import steady
from runs.terminal.layout import clean

_BAR = 30  # the longest bar of plus and minus signs
_COLOURS = {"+": "32", "-": "31", "@": "36"}
_HEADS = ("diff ", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ", "similarity ")


def stat(changes: Changes) -> str:
    """A line for each file, and how much it is in all."""
    listing = changes.listing
    most = max((file.changed_lines for file in listing.files), default=0)
    width = max((len(_name(file)) for file in listing.files), default=0)
    lines = [f" {_name(file):<{width}} | {_measure(file, most)}" for file in listing.files]
    if left_out := listing.count - len(listing.files):
        lines.append(f" … and {number_of(left_out, 'more file')}")
    total = f"{number_of(listing.count, 'file')} changed"
    return "\n".join([*lines, f" {total}, +{listing.additions} −{listing.deletions}"])


def patch(changes: Changes) -> bytes:
    """All of it, as `git apply` takes it."""
    return b"".join(patches_of(changes))


def coloured(changes: Changes) -> str:
    """The same for a screen."""
    text = steady(patch(changes).decode(errors="replace"))
    return f"{stat(changes)}\n\n" + "\n".join(_coloured(text.split("\n")))


def _coloured(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        code = "1" if line.startswith(_HEADS) else _COLOURS.get(line[:1])
        yield f"\x1b[{code}m{line}\x1b[0m" if code else line


def _name(file: ChangedFile) -> str:
    return clean(f"{file.old_path} → {file.path}" if file.old_path else file.path)


def _measure(file: ChangedFile, most: int) -> str:
    if file.binary:
        return "binary"
    scale = min(1.0, _BAR / most) if most else 0.0
    bar = "+" * round(file.additions * scale) + "-" * round(file.deletions * scale)
    cut = " (too large to show)" if file.truncated else ""
    return f"{file.changed_lines} {bar}{cut}".rstrip()
