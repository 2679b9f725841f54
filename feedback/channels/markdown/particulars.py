"""What a request comes with, as parts of its comment: a few at once, all of it folded."""

from collections.abc import Iterator

from feedback.channels.markdown.escape import block, fenced, folded, harmless, line
from runs.domain.values.background import BackgroundSection
from runs.domain.values.numbers import number_of

FEW = 8
_LINE = 300  # characters of an item that is shown at once
_ITEM = 5_000  # and in the fold
# What a part may take of the comment; together they leave room for the message of a step.
_ROOM = {"questions": 6_000, "unshown": 2_000, "errors": 9_000, "analysis": 5_000}
_OTHERS = 4_000
_WHERE = "on the review page"


def told(section: BackgroundSection) -> str:
    room = _ROOM.get(section.name, _OTHERS)
    if not section.one:
        return folded(section.title, block("\n\n".join(section.items), room - 200))
    shown = [_marked(section, n, line(item, _LINE)) for n, item in _numbered(section)][:FEW]
    parts = [f"**{section.title}**:", *shown]
    if any(not _is_whole(item) for item in section.items) or section.items[FEW:]:
        parts.append("\n" + _all(section, room - sum(map(len, parts)) - 400))
    return "\n".join(parts)


def _all(section: BackgroundSection, room: int) -> str:
    """A fold with every item in full, as far as there is room, and how many there was none for."""
    items: list[str] = []
    for number, item in _numbered(section):
        text = _marked(section, number, _in_full(item))
        room -= len(text) + 1
        if room < 0:
            break
        items.append(text)
    every = len(section.items)
    if more := every - len(items):
        items.append(f"\n{_more(section, more)}")
    title = f"All {number_of(every, section.one)}" if every > FEW else f"{section.title} in full"
    text = "\n".join(items)
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _more(section: BackgroundSection, count: int) -> str:
    verb = "is" if count == 1 else "are"
    return f"{count} more {number_of(count, section.one).partition(' ')[2]} {verb} {_WHERE}."


def _numbered(section: BackgroundSection) -> Iterator[tuple[int, str]]:
    return enumerate(section.items, start=1)


def _marked(section: BackgroundSection, number: int, text: str) -> str:
    mark = f"{number}. " if section.is_numbered else "- "
    return mark + text.replace("\n", "\n" + " " * len(mark))


def _is_whole(item: str) -> bool:
    """Whether one line shows all of it."""
    return len(item.strip()) <= _LINE and "\n" not in item.strip()


def _in_full(item: str) -> str:
    if _is_whole(item):
        return line(item, _LINE)
    text = harmless(item[: 2 * _ITEM])
    return fenced(text if len(text) <= _ITEM else f"{text[:_ITEM]}…\n(the rest is {_WHERE})")
