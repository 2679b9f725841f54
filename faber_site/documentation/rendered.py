"""A page as HTML, with links that lead to the other pages here."""

import posixpath
import re
from functools import cache

from django.urls import reverse
from django.utils.safestring import SafeString

from faber_site.documentation import shelf
from faber_site.documentation.shelf import DocsPage
from runs.rendering import Pictures, Rendered, render
from runs.rendering.sanitising import ID_PREFIX

_CODE_OR_LINK = re.compile(
    r"(?P<code>^[ ]*```.*?^[ ]*```$|`[^`\n]*`)"
    r"|(?P<image>!?)\[(?P<words>[^\]]*)\]\((?!https?:|mailto:|\#)(?P<path>[^)\s#]+)(?P<anchor>\#[^)\s]+)?\)",
    re.DOTALL | re.MULTILINE,
)
_HREF = re.compile(r'href="(?P<path>[\w./-]+)(?:#(?P<anchor>[^"]*))?"')


@cache
def rendered(page: DocsPage) -> Rendered:
    addresses = {path: reverse("docs-file", args=[path]) for path in shelf.files()}
    # Links of a page at the top and of one in the folder are written alike from here on.
    text = _CODE_OR_LINK.sub(lambda link: _from_the_top(link, page), page.text)
    found = render(text, pictures=Pictures(document="page.md", addresses=addresses))
    return Rendered(html=SafeString(_HREF.sub(_leading_here, found.html)), toc=found.toc, hidden=())


def _from_the_top(link: re.Match[str], page: DocsPage) -> str:
    if link["code"]:
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), link["path"]))
    if not _is_here(path):
        return link["words"]
    return f"{link['image']}[{link['words']}]({path}{link['anchor'] or ''})"


def _is_here(path: str) -> bool:
    return path in shelf.files() or path in {page.path for page in shelf.pages().values()}


def _leading_here(link: re.Match[str]) -> str:
    path = link["path"]
    if path in shelf.files():
        return f'href="{reverse("docs-file", args=[path])}"'
    address = reverse("docs-page", args=[posixpath.basename(path).removesuffix(".md").lower()])
    anchor = f"#{ID_PREFIX}{link['anchor']}" if link["anchor"] else ""
    return f'href="{address}{anchor}"'
