"""Pictures of a document's own folder: those that were kept, by signed addresses alone."""

import pytest

from runs.rendering import Pictures, render
from runs.rendering.pictures import kind_of, named_in, path_of

KEPT = Pictures(document="docs/spec.md", addresses={"docs/img/a b.png": "/kept/1/a%20b.png"})
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    "markdown",
    [
        "![Till](img/a%20b.png)",
        "![Till][t]\n\n[t]: <img/a%20b.png>",
        '<img src="img/a b.png" alt="Till">',
    ],
)
def test_a_kept_picture_is_shown(markdown: str) -> None:
    shown = str(render(markdown, pictures=KEPT).html)

    for part in ("<img ", 'src="/kept/1/a%20b.png"', 'alt="Till"', 'loading="lazy"'):
        assert part in shown


def test_a_picture_that_was_not_kept_is_named() -> None:
    shown = render("![Till](gone.png)", pictures=KEPT).html

    assert '<span class="missing-picture">Image not available: docs/gone.png</span>' in shown


@pytest.mark.parametrize(
    "source",
    [
        "https://elsewhere.example/a.png",
        "../a.png",
        "/etc/a.png",
        "img/../../a.png",
        "a.html",
        "data:,x",
    ],
)
def test_no_other_picture_is_loaded(source: str) -> None:
    assert path_of("docs/spec.md", source) == ""
    for markdown in (f"![x]({source})", f'<img src="{source}">', f'<p>x <img src="{source}"></p>'):
        assert "<img" not in render(markdown, pictures=KEPT).html


def test_a_document_cannot_sign_an_address() -> None:
    shown = render('<img src="0123456789abcdef-/logout/">', pictures=KEPT).html

    assert "src=" not in shown


def test_pictures_are_found_in_every_way_of_writing_them() -> None:
    text = '![a](a.png "t")\n<img width=1 src="b/c.SVG">\n\n[d]: d.webp\n![a](a.png) ![x](x.txt)'

    assert named_in("docs/spec.md", text) == ["docs/a.png", "docs/b/c.SVG", "docs/d.webp"]
    assert named_in("spec.md", "![a](./a.png) ![b](../b.png)") == ["a.png"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b'<?xml version="1.0"?>\n<svg xmlns="x">', "image/svg+xml"),
        (b"<html><svg>", ""),
        (b"<script>alert(1)</script>", ""),
        (b"", ""),
    ],
)
def test_a_picture_is_known_by_its_beginning(content: bytes, kind: str) -> None:
    assert kind_of(content) == kind
