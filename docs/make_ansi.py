"""Re-creates static/css/ansi.css: the 256 colours of a terminal, readable in both themes.

python docs/make_ansi.py
"""

import colorsys
from pathlib import Path

from runs.rendering.terminal_colours import rgb

FILE = Path(__file__).resolve().parents[1] / "static" / "css" / "ansi.css"
# Where output stands, in the light and in the dark: --sunken of tokens.css.
GROUNDS = ("#f3f3f1", "#101113")
LEAST = 4.5
# The first 16 as the pages' own palette has them, in the light and in the dark.
NAMED = (
    "#1b1b1a #a62b25 #1b6843 #85500a #3a4fc4 #8a2b86 #10657a #6b6964 "
    "#5f5d58 #d0453d #36976a #d68c1f #4c63db #b24cae #2a8fa8 #b9b7b0"
)
NAMED_IN_THE_DARK = (
    "#8b8a86 #ff9f98 #80d3a6 #edbd74 #a5b4ff #e6a5e3 #7fd0e3 #d6d5d1 "
    "#a3a29e #ffb3ad #9fe3bf #f5cf94 #bccaff #f0bced #9fe0f0 #ffffff"
)
HEAD = """/* The 256 colours of a terminal, made by docs/make_ansi.py. */

/* Every ink is at least 4.5:1 on the ground of output in both themes, every ground has the ink that
   can be read on it; tests/runs/rendering/test_terminal_colours.py computes it. */

@layer components {
  .ansi-bold { font-weight: 700; }
  .ansi-italic { font-style: italic; }
  .ansi-underline { text-decoration: underline; }
  .ansi-strike { text-decoration: line-through; }
  .ansi-underline.ansi-strike { text-decoration: underline line-through; }
  .ansi-dim { color: var(--soft); }
  .ansi-reverse { background: var(--ink); color: var(--sunken); }

  /* The first error, where it was printed */
  .output mark { background: none; box-shadow: -0.1875rem 0 0 var(--bad-mark); color: inherit; }
"""


def main() -> None:
    others = [written(rgb(number)) for number in range(16, 256)]
    light, dark = [*NAMED.split(), *others], [*NAMED_IN_THE_DARK.split(), *others]
    rules = [*map(ink, range(256), light, dark), *map(ground, range(256), light)]
    FILE.write_text("\n".join([HEAD.rstrip("\n"), *rules, "}", ""]))


def ink(number: int, light: str, dark: str) -> str:
    pair = f"{readable(light, GROUNDS[0], -1)}, {readable(dark, GROUNDS[1], 1)}"
    return f"  .ansi-ink-{number} {{ color: light-dark({pair}); }}"


def ground(number: int, colour: str) -> str:
    text = max(("#000000", "#ffffff"), key=lambda each: contrast(each, colour))
    return f"  .ansi-on-{number} {{ background: {colour}; color: {text}; }}"


def readable(colour: str, ground: str, direction: int) -> str:
    """The same hue, as much darker or lighter as it takes."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in read(colour)))
    while contrast(colour, ground) < LEAST:
        lightness += direction * 0.01
        mixed = colorsys.hls_to_rgb(hue, min(max(lightness, 0), 1), saturation)
        colour = written(tuple(round(part * 255) for part in mixed))
    return colour


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = (part / 255 for part in read(colour))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def read(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def written(colour: tuple[int, ...]) -> str:
    return "#" + bytes(colour).hex()


if __name__ == "__main__":
    main()
