"""The page about the settings is what the code says."""

from pathlib import Path

from faber_site.configuration import reference

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_page_is_the_one_that_make_docs_writes() -> None:
    assert PAGE.read_text() == reference.page()
