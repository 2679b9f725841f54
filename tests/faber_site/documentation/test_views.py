"""The documentation is read and searched inside the site."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from faber_site.documentation import shelf
from faber_site.documentation.search import DocsSection, sections
from runs.rendering import render

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("rita"))
    return client


def shown(reader: Client, address: str) -> str:
    answer = reader.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def article(reader: Client, name: str) -> str:
    return shown(reader, f"/docs/{name}/").partition("<article")[2].partition("</article>")[0]


def test_every_link_and_picture_of_every_page_leads_somewhere(reader: Client) -> None:
    for name in shelf.pages():
        html = article(reader, name)
        for address in re.findall(r'(?:href|src)="(/docs/[^"#]*)', html):
            assert reader.get(address).status_code == 200, f"{name}: {address}"
        assert not re.search(r'href="(?!https?:|mailto:|#|/docs/)', html), name


def test_links_written_for_a_checkout_lead_to_pages_of_the_site(reader: Client) -> None:
    overview = shown(reader, "/docs/readme/")
    api = shown(reader, "/docs/api/")

    assert 'href="/docs/security/"' in overview
    assert 'src="/docs/files/docs/screenshots/review.png"' in overview
    assert 'href="/docs/agents/#user-content-asking-through-mcp"' in api


def test_every_page_is_in_the_list_and_said_in_a_sentence(reader: Client) -> None:
    listed = shown(reader, "/docs/")

    for page in shelf.pages().values():
        assert f'href="/docs/{page.name}/"' in listed
        assert page.summary


def test_a_search_finds_the_section_and_marks_the_words(reader: Client) -> None:
    found = shown(reader, "/docs/search/?q=callback+signature")

    assert 'href="/docs/api/#user-content-callbacks"' in found
    assert "<mark>" in found


def test_words_that_stand_together_are_found_first() -> None:
    page = next(iter(shelf.pages().values()))
    apart, together = (
        DocsSection(page=page, title="", anchor="x", text=text)
        for text in ("a limit, a limit and a rate", "the rate limit")
    )
    words = [re.compile("rate"), re.compile("limit")]

    assert together.score(words) > apart.score(words) > 0


def test_an_excerpt_has_no_lines_of_tables_or_fences(reader: Client) -> None:
    for query in ("exit+codes", "faber+backup"):
        excerpts = re.findall(
            r"<p[^>]*>([^<]*<mark>.*?)</p>", shown(reader, f"/docs/search/?q={query}")
        )
        assert excerpts
        assert not [text for text in excerpts if "--- ---" in text or re.search(r"\bsh\b", text)]


def test_what_is_found_begins_with_the_word_and_reads_as_text(reader: Client) -> None:
    found = reader.get("/docs/search/", {"q": "gate"}).content.decode()

    assert "<mark>gate</mark>" in found
    assert "dele<mark>" not in found
    assert "--- ---" not in found
    assert "flowchart" not in found
    assert "_<mark>timeout</mark>" in reader.get("/docs/search/", {"q": "timeout"}).content.decode()


def test_a_search_without_results_says_so(reader: Client) -> None:
    assert "No results for" in shown(reader, "/docs/search/?q=<zzz>+%00")
    assert "Type what you look for" in shown(reader, "/docs/search/")


def test_sections_are_found_by_the_anchors_that_pages_have() -> None:
    for page in shelf.pages().values():
        anchors = {entry.anchor for entry in render(page.text).toc}
        assert {section.anchor for section in sections(page)} - {""} <= anchors, page.name


@pytest.mark.parametrize("address", ["/docs/nothing/", "/docs/files/docs/../manage.py"])
def test_nothing_else_is_read_from_the_disk(reader: Client, address: str) -> None:
    assert reader.get(address).status_code == 404
