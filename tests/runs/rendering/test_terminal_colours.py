"""Output of programs as HTML: colours as classes, and nothing that could be markup."""

import re
from pathlib import Path

import pytest

from runs.domain.values.printed.terminal_codes import bare
from runs.rendering.terminal_colours import coloured, nearest

SHEET = (Path(__file__).parents[3] / "static" / "css" / "ansi.css").read_text()
OUTPUT_GROUNDS = ("#f3f3f1", "#101113")  # --sunken, light and dark


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[31mred\x1b[0m plain", '<span class="ansi-ink-1">red</span> plain'),
        ("\x1b[1;4;92mok\x1b[m", '<span class="ansi-bold ansi-underline ansi-ink-10">ok</span>'),
        ("\x1b[38;5;208mx", '<span class="ansi-ink-208">x</span>'),
        ("\x1b[38;2;255;135;0mx", '<span class="ansi-ink-208">x</span>'),
        ("\x1b[38:2::255:135:0mx", '<span class="ansi-ink-208">x</span>'),
        ("\x1b[33;44mx", '<span class="ansi-on-4">x</span>'),
        ("\x1b[31;7mx", '<span class="ansi-on-1">x</span>'),
        ("\x1b[7mx\x1b[27my", '<span class="ansi-reverse">x</span>y'),
        ("\x1b[31ma\nb", '<span class="ansi-ink-1">a</span>\n<span class="ansi-ink-1">b</span>'),
        ("\x1b[2Ka\x1b[10;5Hb\x1b]8;;http://x\x07c\x1b]8;;\x1b\\d\x1b(Be\x9b1mf", "abcde"),
        ("<b>\x1b[31m&\x1b[39m</b>", '&lt;b&gt;<span class="ansi-ink-1">&amp;</span>&lt;/b&gt;'),
        ("10 %\r20 %\r\ndone\x08\x07", "10 %\n20 %\ndone"),
    ],
)
def test_colours_are_classes_and_all_else_is_gone(printed: str, shown: str) -> None:
    assert coloured(printed).replace('<span class="ansi-bold">f</span>', "") == shown


def test_without_colours_the_lines_stay_the_same() -> None:
    printed = "\x1b[31ma\x1b[0m\r\nb\rc\x1b]0;title\x07\n"

    assert bare(printed) == "a\nb\nc\n"


def test_a_command_without_an_end_hides_nothing() -> None:
    assert bare("a\x1b]0;b\nc") == "a0;b\nc"


def test_lines_are_marked_and_the_first_has_a_place() -> None:
    assert coloured("a\n<b>\nc", marked=range(2, 4)) == (
        'a\n<mark id="first-error">&lt;b&gt;</mark>\n<mark>c</mark>'
    )


def test_a_grey_is_the_nearest_grey() -> None:
    assert (nearest(128, 128, 128), nearest(0, 0, 0), nearest(300, 0, 0)) == (244, 16, 196)


def luminance(colour: str) -> float:
    parts = [part / 255 for part in bytes.fromhex(colour[1:])]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_every_ink_can_be_read_in_both_themes() -> None:
    inks = re.findall(r"\.ansi-ink-(\d+) \{ color: light-dark\((#\w+), (#\w+)\)", SHEET)

    assert [int(number) for number, *_ in inks] == list(range(256))
    for _, *pair in inks:
        for ink, ground in zip(pair, OUTPUT_GROUNDS, strict=True):
            assert contrast(ink, ground) >= 4.5


def test_every_ground_has_an_ink_that_can_be_read() -> None:
    grounds = re.findall(r"\.ansi-on-(\d+) \{ background: (#\w+); color: (#\w+)", SHEET)

    assert [int(number) for number, *_ in grounds] == list(range(256))
    assert all(contrast(ground, ink) >= 4.5 for _, ground, ink in grounds)
