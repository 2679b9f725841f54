"""The pages of the documentation in a browser: their drawings are drawn."""

import pytest
from playwright.sync_api import expect

from faber_site.documentation import shelf
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PATHS = 6


@pytest.mark.parametrize("width", [390, 1200])
def test_no_page_is_wider_than_the_window(open_as: OpenAs, width: int) -> None:
    page = open_as()
    page.set_viewport_size({"width": width, "height": 800})

    for name in shelf.pages():
        page.goto(f"/docs/{name}/")
        room = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert room[0] <= room[1], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_path_of_the_concepts_is_drawn(open_as: OpenAs, scheme: str) -> None:
    page = open_as(color_scheme=scheme)
    page.goto("/docs/concepts/")
    figures = page.locator("figure.diagram")
    expect(figures).to_have_count(PATHS)

    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-drawn", "")

    expect(page.locator(".diagram-problem:visible")).to_have_count(0)
    assert faults(page) == []
