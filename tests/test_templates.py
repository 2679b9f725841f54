"""The templates are read by people too."""

from pathlib import Path

TEMPLATES = Path(__file__).parents[1] / "templates"
LONGEST = 120


def test_no_template_line_is_longer_than_120_characters() -> None:
    too_long = [
        f"{file.relative_to(TEMPLATES.parent)}:{number}"
        for file in sorted(TEMPLATES.rglob("*.html"))
        for number, line in enumerate(file.read_text().split("\n"), start=1)
        if len(line) > LONGEST
    ]

    assert not too_long
