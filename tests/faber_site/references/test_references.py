"""The references are what the code says."""

import re
from pathlib import Path

import pytest

from faber_site.references.pages import references

DOCS = Path(__file__).parents[3] / "docs"
PAGES = references()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_the_one_that_make_docs_writes(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name], "run `make docs`"


@pytest.mark.parametrize("name", PAGES)
def test_every_row_has_a_meaning(name: str) -> None:
    # Short names of an event are optional.
    text = PAGES[name].partition("## From steps")[0]

    assert re.findall(r"^.*\| \|$", text, re.MULTILINE) == []


def test_commands_are_listed_with_what_follows_them() -> None:
    assert "### faber answer" in PAGES["commands.md"]
    assert "#### faber batch wait" in PAGES["commands.md"]
    assert "| `--work-id ID[,ID]` |" in PAGES["commands.md"]


def test_keys_have_their_values_and_defaults() -> None:
    assert "| `on_crash` | `retry`, `ask` | `retry` |" in PAGES["workflow-keys.md"]
    assert "| `max_retries` | whole number, 0 to 10 |" in PAGES["workflow-keys.md"]
    assert "list of [step](#step)" in PAGES["workflow-keys.md"]


def test_events_have_their_short_names() -> None:
    assert "| `pr_create` | `pull_request`, `pr` |" in PAGES["events.md"]
