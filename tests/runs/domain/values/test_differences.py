"""The difference between two revisions, as source lines and as rendered blocks."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.desk.rendered_differences import Pair, compare_rendered
from runs.domain.values import differences
from runs.domain.values.differences import Difference, DiffRow, Hunk, compare
from runs.rendering import render

PARAGRAPHS = ["The cat sat.", "", "A dog ran.", "", "Nobody saw it.", "", "The end."]
ONE_MARK = ["-one [wee old] dog ran", "+one [big new] dog ran"]
SIGNS = {"same": " ", "removed": "-", "added": "+"}

line_texts = st.sampled_from(["", "a", "b", "a b", "don't stop", "x = 1", "    x = 2", "é! é?"])
texts = st.lists(line_texts | st.text(max_size=12), max_size=20).map("\n".join)
markdown_lines = st.sampled_from(
    [
        "",
        "",
        "# Title & more",
        "Some *plain* words",
        "Some ~~other~~ words, and [a link](https://example.org/a).",
        "- an item",
        "- [x] a task",
        "  nested",
        "```python",
        "    return x < 1",
        "```",
        "> quoted",
        "| a | b |",
        "|---|---|",
        "<details>",
        "</details>",
        "text <b>bold",
        "---",
    ]
)
markdown = st.lists(markdown_lines | st.text(max_size=12), max_size=14).map("\n".join)


def lines_of(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def text_of(row: DiffRow) -> str:
    return "".join(piece.text for piece in row.pieces)


def shown(row: DiffRow) -> str:
    """A row as a reader sees it, the marked pieces in brackets."""
    marked = (f"[{piece.text}]" if piece.is_marked else piece.text for piece in row.pieces)
    return SIGNS[row.kind] + "".join(marked)


def unified(difference: Difference) -> list[list[str]]:
    return [[shown(row) for row in hunk.rows] for hunk in difference.hunks]


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(1, count + 1)]


def rewritten(lines: list[str], *numbers: int) -> list[str]:
    return [f"{line} anew" if at in numbers else line for at, line in enumerate(lines, start=1)]


def side_by_side(old: str, new: str) -> tuple[Pair, ...]:
    return compare_rendered(render(old).html, render(new).html, compare(old, new))


def told(old: str, new: str) -> list[tuple[str, str, str]]:
    """Kind, old side and new side, without line numbers and surrounding space."""
    return [
        (pair.kind, pair.old.strip(), without_anchors(pair.new).strip())
        for pair in side_by_side(old, new)
    ]


def without_anchors(html: str) -> str:
    return re.sub(r' (?:data-line|data-end|id)="[^"]*"', "", html)


def in_order(html: str) -> str:
    """With the attributes of each tag sorted: the sanitiser gives them in any order."""

    def ordered(tag: re.Match[str]) -> str:
        return tag[1] + "".join(sorted(re.findall(r' [^ ="]+="[^"]*"', tag[2]))) + ">"

    return re.sub(r'(<[a-z0-9]+)((?: [^ ="]+="[^"]*")+)>', ordered, html)


def without(name: str, html: str) -> str:
    return re.sub(f"</?{name}>", "", html)


class Nesting(HTMLParser):
    """Fails when an element is closed that is not the innermost open one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("br", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def assert_well_formed(html: str) -> None:
    nesting = Nesting()
    nesting.feed(html)
    nesting.close()
    assert nesting.open == []


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("", "a", ["+[a]"]),
        ("a", "", ["-[a]"]),
        ("a\nb", "a\nc", [" a", "-[b]", "+[c]"]),
        ("The red fox", "The blue fox", ["-The [red] fox", "+The [blue] fox"]),
        ("they don't know", "they didn't know", ["-they [don't] know", "+they [didn't] know"]),
        ("naïve thinking", "naive thinking", ["-[naïve] thinking", "+[naive] thinking"]),
        ("हिन्दी में लिखा", "हिन्दू में लिखा", ["-[हिन्दी] में लिखा", "+[हिन्दू] में लिखा"]),
        ("one wee old dog ran", "one big new dog ran", ONE_MARK),
        ("    return value", "  return value", ["-[    ]return value", "+[  ]return value"]),
        ("a long line here", "a long line here ", ["-a long line here", "+a long line here[ ]"]),
        ("cat in a hat", "sums of a list", ["-[cat in a hat]", "+[sums of a list]"]),
        ("a\nb", "a\n\nb", [" a", "+", " b"]),
    ],
)
def test_changed_words_are_marked_inside_lines_that_resemble_each_other(
    old: str, new: str, rows: list[str]
) -> None:
    assert unified(compare(old, new)) == [rows]


def test_each_removed_line_is_compared_with_the_added_line_of_the_same_rank() -> None:
    found = compare("first old word\nsecond old word", "first new word\nsecond new word\nthird")

    assert unified(found) == [
        [
            "-first [old] word",
            "-second [old] word",
            "+first [new] word",
            "+second [new] word",
            "+[third]",
        ]
    ]
    assert (found.removed, found.added) == (2, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [("a\r\nb\r\n", "a\nb"), ("a\rb", "a\nb\n"), ("", ""), ("a\n", "a")],
)
def test_line_ends_make_no_difference(old: str, new: str) -> None:
    assert compare(old, new).is_empty


def test_a_blank_line_more_at_the_end_is_a_difference() -> None:
    found = compare("a\n", "a\n\n")

    assert not found.is_empty
    assert unified(found) == [[" a", "+"]]


def test_what_is_too_much_leaves_the_rest_of_the_effort_to_others() -> None:
    effort = differences.Effort(10)

    assert [effort.allows(steps) for steps in (8, 3, 2, 1)] == [True, False, True, False]


def test_other_separators_do_not_count_as_line_ends() -> None:
    assert compare("a\x0cb\u2028c\nd", "a\x0cb\u2028c\ne").hunks[0].old_last == 2


def test_a_hunk_has_three_lines_around_the_change() -> None:
    lines = numbered(20)

    (hunk,) = compare("\n".join(lines), "\n".join(rewritten(lines, 10))).hunks

    assert (hunk.old_first, hunk.old_last, hunk.new_first, hunk.new_last) == (7, 13, 7, 13)
    assert [row.old_line for row in hunk.rows] == [7, 8, 9, 10, None, 11, 12, 13]
    assert [row.new_line for row in hunk.rows] == [7, 8, 9, None, 10, 11, 12, 13]


@pytest.mark.parametrize(("other", "hunks"), [(12, 1), (13, 2)])
def test_hunks_whose_context_touches_are_one(other: int, hunks: int) -> None:
    lines = numbered(20)

    found = compare("\n".join(lines), "\n".join(rewritten(lines, 5, other)))

    assert len(found.hunks) == hunks


@pytest.mark.parametrize(
    ("line", "end_line", "is_touched"),
    [(4, 4, False), (5, 5, True), (1, 5, True), (6, 6, True), (7, 9, False), (1, 20, True)],
)
def test_a_remark_finds_the_hunk_that_changed_its_lines(
    line: int, end_line: int, is_touched: bool
) -> None:
    lines = numbered(20)
    found = compare("\n".join(lines), "\n".join(rewritten(lines, 5, 6)))

    assert bool(found.hunks_for(line, end_line)) is is_touched


@pytest.mark.parametrize(
    ("line", "is_touched"), [(1, False), (3, True), (4, True), (5, True), (7, False)]
)
def test_a_remark_finds_what_was_put_next_to_its_lines_over_blank_ones(
    line: int, is_touched: bool
) -> None:
    new = [*PARAGRAPHS[:4], "A bird flew.", "", *PARAGRAPHS[4:]]
    found = compare("\n".join(PARAGRAPHS), "\n".join(new))

    assert bool(found.hunks_for(line, line)) is is_touched


def test_a_remark_finds_only_its_own_hunk() -> None:
    lines = numbered(40)
    found = compare("\n".join(lines), "\n".join(rewritten(lines, 5, 30)))

    assert found.hunks_for(30, 30) == (found.hunks[1],)


def test_a_line_is_found_again_where_it_stands_now() -> None:
    old = numbered(30)
    new = ["zero", *old[:9], "entirely different", "words", *old[10:]]

    found = compare("\n".join(old), "\n".join(new))

    assert [found.new_line_of(line) for line in (1, 9, 10, 11, 30)] == [2, 10, None, 13, 32]


def test_alternating_lines_without_end_are_given_up_as_one_change() -> None:
    old = "x\n" + "a\nb\n" * 2000 + "x"
    new = "y\n" + "b\na\nb\n" * 1500 + "y"

    (hunk,) = compare(old, new).hunks

    assert [row.kind for row in hunk.rows] == ["removed"] * 4002 + ["added"] * 4502


def test_a_long_text_is_compared_between_lines_it_has_only_once() -> None:
    old = [line for number in range(3000) for line in (f"line {number}", "")]
    new = [line for line in old if line not in ("line 7", "line 1500")]
    new.insert(2000, "a new one")

    found = compare("\n".join(old), "\n".join(new))

    assert (found.removed, found.added) == (2, 1)


def test_words_are_compared_only_as_long_as_the_work_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(differences.Effort, "allows", lambda _self, _steps: False)

    assert unified(compare("a red b or c fox", "a blue b and c fox")) == [
        ["-[a red b or c fox]", "+[a blue b and c fox]"]
    ]


@settings(deadline=None)
@given(texts)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert compare(text, text) == Difference(hunks=(), added=0, removed=0)


def side_lines(hunk: Hunk, changed: str) -> list[str]:
    return [text_of(row) for row in hunk.rows if row.kind in ("same", changed)]


@settings(deadline=None)
@given(texts, texts)
def test_the_rows_are_the_lines_of_both_texts(old: str, new: str) -> None:
    before, after = lines_of(old), lines_of(new)
    found = compare(old, new)
    for hunk in found.hunks:
        assert side_lines(hunk, "removed") == before[hunk.old_first - 1 : hunk.old_last]
        assert side_lines(hunk, "added") == after[hunk.new_first - 1 : hunk.new_last]
        for row in hunk.rows:
            assert row.old_line is None or before[row.old_line - 1] == text_of(row)
            assert row.new_line is None or after[row.new_line - 1] == text_of(row)


@settings(deadline=None)
@given(texts, texts)
def test_applying_the_hunks_to_the_old_text_gives_the_new_one(old: str, new: str) -> None:
    lines = lines_of(old)
    for hunk in reversed(compare(old, new).hunks):
        lines[hunk.old_first - 1 : hunk.old_last] = side_lines(hunk, "added")
    assert lines == lines_of(new)


@settings(deadline=None)
@given(texts, texts)
def test_every_old_line_is_removed_or_stands_in_the_new_text(old: str, new: str) -> None:
    before, after = lines_of(old), lines_of(new)
    found = compare(old, new)
    places = [found.new_line_of(line) for line in range(1, len(before) + 1)]
    assert places.count(None) == found.removed
    for text, place in zip(before, places, strict=True):
        assert place is None or after[place - 1] == text


@settings(deadline=None)
@given(texts, texts)
def test_every_change_is_found_by_its_own_lines(old: str, new: str) -> None:
    found = compare(old, new)
    for hunk in found.hunks:
        for row in hunk.rows:
            if row.kind == "removed" and row.old_line:
                assert hunk in found.hunks_for(row.old_line, row.old_line)


@settings(deadline=None)
@given(texts, texts)
def test_a_mark_never_splits_a_word(old: str, new: str) -> None:
    for hunk in compare(old, new).hunks:
        for row in hunk.rows:
            assert all(piece.text for piece in row.pieces)
            for left, right in pairwise(row.pieces):
                assert not (left.text[-1].isalnum() and right.text[0].isalnum())


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ("a", "a", [("same", "<p>a</p>", "<p>a</p>")]),
        ("", "a & b", [("added", "", "<p><ins>a &amp; b</ins></p>")]),
        ("*a* b", "", [("removed", "<p><em><del>a</del></em> <del>b</del></p>", "")]),
        (
            "The red fox ran.",
            "The blue fox ran.",
            [
                (
                    "changed",
                    "<p>The <del>red</del> fox ran.</p>",
                    "<p>The <ins>blue</ins> fox ran.</p>",
                )
            ],
        ),
        (
            "One &lt; two words",
            "One &gt; two words",
            [
                (
                    "changed",
                    "<p>One <del>&lt;</del> two words</p>",
                    "<p>One <ins>&gt;</ins> two words</p>",
                )
            ],
        ),
        (
            "some plain words",
            "some **plain** words",
            [
                (
                    "changed",
                    "<p>some <del>plain</del> words</p>",
                    "<p>some <strong><ins>plain</ins></strong> words</p>",
                )
            ],
        ),
        (
            "wholly other",
            "not alike",
            [("changed", "<p><del>wholly other</del></p>", "<p><ins>not alike</ins></p>")],
        ),
    ],
)
def test_changed_words_are_marked_between_the_tags(
    old: str, new: str, pairs: list[tuple[str, str, str]]
) -> None:
    assert told(old, new) == pairs


def test_a_new_paragraph_stands_alone_and_its_neighbours_keep_their_partners() -> None:
    new = ["The cat sat down.", "", "A bird flew.", "", *PARAGRAPHS[2:]]

    assert told("\n".join(PARAGRAPHS), "\n".join(new)) == [
        ("changed", "<p>The cat sat.</p>", "<p>The cat sat <ins>down</ins>.</p>"),
        ("added", "", "<p><ins>A bird flew.</ins></p>"),
        ("same", "<p>A dog ran.</p>", "<p>A dog ran.</p>"),
        ("same", "<p>Nobody saw it.</p>", "<p>Nobody saw it.</p>"),
        ("same", "<p>The end.</p>", "<p>The end.</p>"),
    ]


def test_paragraphs_that_moved_down_by_another_find_their_partners_by_their_words() -> None:
    old = "The first old one stands here.\n\nThe second old one stands there."
    new = f"Words apart.\n\n{old.replace('old', 'new')}"

    assert [pair.kind for pair in side_by_side(old, new)] == ["added", "changed", "changed"]


def test_a_changed_address_marks_the_words_of_its_link() -> None:
    ((kind, old, new),) = told(
        "see [this page](https://a.example) now", "see [this page](https://b.example) now"
    )

    assert kind == "changed"
    assert "><del>this page</del></a> now" in old
    assert "><ins>this page</ins></a> now" in new


def test_a_ticked_box_marks_its_task() -> None:
    ((kind, _, new),) = told("- [ ] write it down", "- [x] write it down")

    assert kind == "changed"
    assert "<ins>write</ins> it down</li>" in new


def test_code_keeps_its_spaces_and_colours() -> None:
    old = "```python\ndef f(x):\n\n    return  x\n```"

    ((kind, before, after),) = told(old, old.replace("x\n", "y\n"))

    assert kind == "changed"
    assert '\n\n    <span class="k">return</span>  <span class="n"><del>x</del></span>\n' in before
    assert without("del", before) == without_anchors(render(old).html)
    assert '<span class="n"><ins>y</ins></span>\n</code></pre>' in after


def test_another_indentation_of_code_marks_the_first_word_of_the_line() -> None:
    ((_, before, after),) = told("```\nif a:\n  b c\n```", "```\nif a:\n    b c\n```")

    assert "if a:\n  <del>b</del> c\n" in before
    assert "if a:\n    <ins>b</ins> c\n" in after


def test_text_that_cannot_be_laid_out_is_compared_as_well() -> None:
    nested = "> " * 40 + "a & don't\n"

    pairs = side_by_side(nested, nested.replace("don't", "didn't"))

    assert [pair.kind for pair in pairs] == ["same", "changed"]
    assert "&gt; a &amp; <ins>didn&#x27;t</ins>\n</pre>" in pairs[1].new


def test_an_attribute_that_looks_like_an_anchor_is_kept() -> None:
    html = '<p data-line="1" data-end="1" id="x"><a title="an id=" href="#y">a</a> id="b"</p>'

    (pair,) = compare_rendered(html, html, compare("a", "a"))

    assert pair.old == '<p><a title="an id=" href="#y">a</a> id="b"</p>'
    assert pair.new == html


def test_too_many_blocks_are_paired_by_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences.Effort, "allows", lambda _self, _steps: False)

    pairs = side_by_side("one red\n\ntwo red\n\nx", "one blue\n\ntwo blue\n\ny")

    assert [pair.kind for pair in pairs] == ["changed"] * 3


def test_too_many_words_are_marked_as_one_change() -> None:
    old = "x " + "a b " * 4000 + "x"
    new = "y " + "b a b " * 3000 + "y"

    ((_, before, after),) = told(old, new)

    assert before == f"<p><del>{old}</del></p>"
    assert after == f"<p><ins>{new}</ins></p>"


def assert_it_is_both_pages(old: str, new: str, pairs: tuple[Pair, ...]) -> None:
    assert without("ins", "".join(pair.new for pair in pairs)) == new
    before = "".join(pair.old for pair in pairs)
    # The old page may have a <del> of its own.
    assert without("del", before) == without("del", without_anchors(old))


@settings(deadline=None)
@given(markdown, markdown)
def test_without_the_marks_the_sides_are_the_pages(old: str, new: str) -> None:
    pages = render(old).html, render(new).html
    assert_it_is_both_pages(*pages, compare_rendered(*pages, compare(old, new)))


@settings(deadline=None)
@given(markdown, markdown)
def test_every_side_is_well_formed(old: str, new: str) -> None:
    for pair in side_by_side(old, new):
        assert_well_formed(pair.old)
        assert_well_formed(pair.new)


@settings(deadline=None)
@given(markdown, markdown)
def test_the_kind_says_what_happened_to_the_block(old: str, new: str) -> None:
    for pair in side_by_side(old, new):
        assert bool(pair.old) is (pair.kind != "added")
        assert bool(pair.new) is (pair.kind != "removed")
        if pair.old and pair.new:
            is_same = in_order(pair.old.strip()) == in_order(without_anchors(pair.new).strip())
            assert is_same is (pair.kind == "same")


@settings(deadline=None)
@given(markdown)
def test_a_page_does_not_differ_from_itself(text: str) -> None:
    assert {pair.kind for pair in side_by_side(text, text)} <= {"same"}


@settings(deadline=None)
@given(st.text('<>/apb&" \n;', max_size=60), st.text('<>/apb&" \n;', max_size=60))
def test_even_broken_html_loses_nothing(old: str, new: str) -> None:
    pairs = compare_rendered(old, new, compare(old, new))
    assert_it_is_both_pages(old, new, pairs)


@settings(deadline=None)
@given(markdown, markdown)
def test_a_mark_on_the_page_never_splits_a_word(old: str, new: str) -> None:
    for pair in side_by_side(old, new):
        assert not re.search(r"\w</?ins>\w", pair.new)
