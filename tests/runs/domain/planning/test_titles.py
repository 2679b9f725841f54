"""What names a run: the first heading of its document, cleaned and bounded."""

import pytest

from runs.domain.planning import titles


def heading(text: str, path: str = "specs/export.md") -> str:
    return titles.heading_in([(path, text.encode())])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Export invoices\n\nText.", "Export invoices"),
        ("Some words first.\n\n## Export ##\n", "Export"),
        ("Export invoices\n===============\n", "Export invoices"),
        ("Export invoices\r\n---\r\n", "Export invoices"),
        ("---\ntitle: no heading\n# nor this\n---\n\n# Export\n", "Export"),
        ("```\n# a comment in code\n```\n# Export\n", "Export"),
        ("# Use `csv` for **all** [invoices](x.md) of my_own_shop\n", None),
        ("#hashtag\n\n- a list\n---\n\n# Export", "Export"),
        ("No heading at all.\n", ""),
        ("#\n\n# Export\n", "Export"),
        ("\n" * 1000 + "# Far below\n", ""),
    ],
)
def test_the_first_heading_names_a_document(text: str, found: str | None) -> None:
    assert heading(text) == ("Use csv for all invoices of my_own_shop" if found is None else found)


def test_only_documents_have_headings() -> None:
    assert heading("# a comment\n", "setup.py") == ""
    assert heading("# A Title\n", "README.MARKDOWN") == "A Title"


def test_the_first_document_that_has_a_heading_counts() -> None:
    files = [("data.csv", b"# no"), ("notes.md", b"nothing"), ("spec.md", b"# Spec")]

    assert titles.heading_in([*files, ("later.md", b"# Later")]) == "Spec"


def test_a_title_is_one_line_without_what_is_hidden_or_secret() -> None:
    said = titles.cleaned(
        "Export\x1b[31m\n all\u200b <!-- x -->of s3cret", lambda text: text.replace("s3cret", "***")
    )

    assert said == "Export[31m all of ***"
    assert len(titles.cleaned("long " * 100, str)) == titles.LONGEST


def test_a_secret_is_taken_out_before_the_title_is_cut() -> None:
    long = "x" * (titles.LONGEST - 3) + " s3cret"

    assert "s3c" not in titles.cleaned(long, lambda text: text.replace("s3cret", "***"))
