"""What a screen shows that a pipe does not: colour, and a step at work; imported when needed."""

import io
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.spinner import Spinner
from rich.text import Text

from runs.domain.responses.results import ResultStatus
from runs.domain.values import front_matter
from runs.engine import Claim
from runs.terminal.layout import GAP, clean, duration, event_line, one_line
from runs.terminal.watching import name_of

SHOWN_LINES = 5

_KEY = 28
_WIDEST = 100  # of a text that is read
_LEAST = 12  # of a column that is shortened
_MARKS: Mapping[str, tuple[str, str]] = {
    ResultStatus.SUCCESS: ("✓", "green"),
    ResultStatus.WARNING: ("!", "yellow"),
    ResultStatus.FAILURE: ("✗", "red"),
    ResultStatus.PENDING_INPUT: ("?", "cyan"),
}
_STYLES = {
    "completed": "green",
    "in progress": "cyan",
    "awaiting feedback": "yellow",
    "failed": "red",
    "cancelled": "dim",
}


class ScreenView:
    """The step at work with its last lines; when it ends, one line is left of it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots", style="cyan")
        self._live: Live | None = None
        self._name = ""
        self._began = 0.0
        self._lines: tuple[str, ...] = ()

    def say(self, line: str) -> None:
        self._console.print(clean(line), markup=False, soft_wrap=True)

    def event(self, document: Mapping[str, object]) -> None:
        self._print(Text(event_line(document), style="dim"))

    def step_begins(self, claim: Claim) -> None:
        self._name, self._began, self._lines = name_of(claim), time.monotonic(), ()
        self._live = Live(get_renderable=self._picture, console=self._console, transient=True)
        self._live.start()

    def line(self, stream: str, text: str) -> None:
        # A new tuple each time: another thread draws it meanwhile.
        self._lines = (*self._lines, one_line(text))[-SHOWN_LINES:]

    def step_ends(self, claim: Claim) -> None:
        self.close()
        mark, colour = _MARKS.get(claim.attempt.result, ("-", "dim"))  # another worker has it
        done = Text.assemble((f"  {mark} ", colour), self._title())
        whole = clean(claim.attempt.message).strip()
        if "\n" not in whole and done.cell_len + len(whole) < self._console.width:
            self._print(done.append(f"  {whole}", style="dim"))
            return
        self._print(done)
        self._console.print(Padding(Text(whole, style="dim"), (0, 0, 0, 4)))

    def close(self) -> None:
        live, self._live = self._live, None
        if live is None:
            return
        try:
            live.stop()
        except IndexError:
            # Ctrl-C came while it was being started: there is nothing to take back yet.
            self._console.show_cursor(True)

    def _print(self, text: Text) -> None:
        self._console.print(text, no_wrap=True, overflow="ellipsis")

    def _title(self) -> str:
        return f"{self._name:<{_KEY}} {duration(time.monotonic() - self._began):>6}"

    def _picture(self) -> Group:
        self._spinner.update(text=self._title())
        printed = (
            Text(f"    {line}", style="dim", no_wrap=True, overflow="ellipsis")
            for line in self._lines
        )
        return Group(Padding(self._spinner, (0, 0, 0, 2)), *printed)


@contextmanager
def redrawing() -> Iterator[Callable[[list[str]], None]]:
    """A place on the screen that always shows the newest lines; only Ctrl-C leaves them there."""
    live = Live(console=Console(stderr=True, highlight=False), transient=True, auto_refresh=False)

    drawn: list[str] = []

    def draw(lines: list[str]) -> None:
        if lines == drawn:
            return
        drawn[:] = lines
        # Addresses and ids in it are copied.
        shown = [Text.from_ansi(line, overflow="fold") for line in lines]
        # On a line of its own the ^C of a terminal cannot wrap, and all lines are found again.
        live.update(Group(*shown, Text()), refresh=True)

    with live:
        try:
            yield draw
        except KeyboardInterrupt:
            live.transient = False  # nothing else is said
            raise


def document(title: str, text: str, *, is_markdown: bool) -> str:
    """A titled text as a screen shows it; Markdown is laid out, and holds no links to click."""
    page = io.StringIO()
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    console = Console(
        file=page, force_terminal=True, color_system="standard", width=width, highlight=False
    )
    console.print(Rule(Text(title, style="bold"), align="left"))
    block = front_matter.find(text)[0] if is_markdown else text
    if block:
        console.print(Text(block.strip("\n"), style="dim" if is_markdown else ""))
    if is_markdown:
        rest = text.removeprefix(block)
        console.print(Markdown(rest, code_theme="ansi_dark", hyperlinks=False))
    return page.getvalue().rstrip("\n")


def table(
    rows: Sequence[Sequence[str]], *, bends: Sequence[str] = (), goes: Sequence[str] = ()
) -> str:
    """Rows that fit the screen; the first is the header, a run's status has its colour."""
    page = io.StringIO()
    width = shutil.get_terminal_size().columns
    console = Console(file=page, force_terminal=True, width=width)
    widths = _widths(rows, width, bends=bends, goes=goes)
    for number, row in enumerate(rows):
        line = Text(style="" if number else "dim")
        for at, room in widths.items():
            cell = Text(row[at], style=_STYLES.get(row[at], ""))
            cell.truncate(room, overflow="ellipsis", pad=True)
            cell.pad_right(GAP)
            line.append_text(cell)
        line.rstrip()
        # What is left of a row is copied: better on two lines than without its end.
        console.print(line, overflow="fold")
    return page.getvalue().rstrip("\n")


def _widths(
    rows: Sequence[Sequence[str]], width: int, *, bends: Sequence[str], goes: Sequence[str]
) -> dict[int, int]:
    """How wide each column is that stays, by its place."""
    header, going = rows[0], list(goes)
    natural = {at: max(map(cell_len, column)) for at, column in enumerate(zip(*rows, strict=True))}
    bending = {at for at in natural if header[at] in bends}
    least = {at: min(size, _LEAST) if at in bending else size for at, size in natural.items()}
    while going and sum(least.values()) + GAP * (len(least) - 1) > width:
        del least[header.index(going.pop(0))]
    shared = bending & least.keys()
    room = width - GAP * (len(least) - 1) - sum(least[at] for at in least.keys() - shared)
    widths = {at: natural[at] for at in least}
    # The narrowest takes what it needs; the others share what it leaves.
    for left, at in enumerate(sorted(shared, key=natural.__getitem__), start=-len(shared)):
        widths[at] = max(least[at], min(natural[at], room // -left))
        room -= widths[at]
    return widths
