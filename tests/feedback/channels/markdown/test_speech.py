"""Only what somebody says themselves is heard: no code, no quote, no HTML."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.channels.markdown.speech import MAX_CHARACTERS, UNSPOKEN, joined, listen, visible


def said(comment: str) -> list[str]:
    return [line.text for line in listen(comment).lines if line.text]


def written(comment: str) -> str:
    return joined(listen(comment).lines, lambda line: line.source)


@pytest.mark.parametrize(
    ("comment", "heard"),
    [
        ("one\ntwo", ["one", "two"]),
        ("one\r\ntwo\rthree", ["one", "two", "three"]),
        ("# Title", ["Title"]),
        ("Title\n---", ["Title"]),
        ("- one\n- two\nlazy", ["one", "two", "lazy"]),
        ("**bold** and _em_", ["bold and em"]),
        ("request\\_changes", ["request_changes"]),
        ("| a | b |\n|---|:-:|\n| c | d |", ["a | b", "c | d"]),
        ("2.", ["2."]),
        ("List<T> is fine", [f"List{UNSPOKEN} is fine"]),
        ("hi\u200b there\u2066", ["hi there"]),
    ],
)
def test_ordinary_text_is_heard_line_by_line(comment: str, heard: list[str]) -> None:
    assert said(comment) == heard


@pytest.mark.parametrize(
    "comment",
    [
        "```\nword\n```",
        "~~~~\nword\n```\nword\n~~~~",
        "```\nword",
        "    word",
        "\tword",
        "- item\n\n      word",
        "> word",
        "> quote\nword",
        "> > word",
        "- > word",
        "<!-- word -->",
        "<!--\n\nword\n\n-->",
        "<!-- never closed\n\nword",
        "<div>\nword\n</div>",
        "<blockquote>\n\nword\n\n</blockquote>",
        "<details>\n<summary>more</summary>\n\nword\n\n</details>",
        "<pre>\n\nword\n\n</pre>",
        "<div><!--\n\nword\n\n--></div>",
        '<div title="\n\nword\n\n">',
        "text <pre>\n\nword\n\n</pre>",
        '[link](address "title\nword\n")',
        '[a]: address "title\nword"',
        "![word](address)",
        "`word`",
        "`` ` word ``",
        "~~word~~",
        "<kbd>word</kbd>",
        "a <span>\nword\n</span>",
    ],
)
def test_code_quotes_html_and_what_is_struck_out_are_not_heard(comment: str) -> None:
    assert not any("word" in line for line in said(comment))


def test_html_that_is_closed_again_hides_nothing_further() -> None:
    assert said("<details>\n\nhidden\n\n</details>\n\nheard") == ["heard"]
    assert said("a <b>bold\n\nheard")[-1] == "heard"


@pytest.mark.parametrize(
    ("comment", "leads"),
    [
        ("word", True),
        ("  word", True),
        ("text\nword", True),
        ("- item\nword", True),
        ("- item\n\n  word", True),
        ("word\n---", True),
        ("- word", False),
        ("3) word", False),
        ("## word", False),
        ("| word |\n|---|", False),
    ],
)
def test_a_line_leads_when_nothing_is_marked_before_it(comment: str, leads: bool) -> None:
    (line,) = (line for line in listen(comment).lines if line.text == "word")

    assert line.leads is leads


def test_lines_know_their_block_and_keep_their_distance() -> None:
    speech = listen("one\ntwo\n\n> quote\n\n- three\n- four")

    blocks = [(line.first, line.last) for line in speech.lines]
    assert blocks == [(1, 2), (1, 2), (4, 4), (6, 6), (7, 7)]
    assert (
        joined(speech.lines, lambda line: line.source) == "one\ntwo\n\n> quote\n\n- three\n- four"
    )


@pytest.mark.parametrize(
    "comment",
    [
        "Rename `a` to ``b`c`` or `` `d` ``.",
        "See [the **plan**](https://example.org/a) and <https://example.org>.",
        "1. one\n2. two",
        "## Title",
        "Look:\n```py\nx = 1\n```",
        "![graph](https://example.org/g.png)",
        "2 \\* 3 &amp; more",
        "> a quote\ngoes on\n\nand ends",
        "- item\n\n  > quoted below it",
        "a <!-- note --> b <kbd>c</kbd>",
        "<details>\n<summary>more</summary>\n\nword\n\n</details>\n\nafter",
        "<!-- never closed\n\nword",
    ],
)
def test_what_was_written_is_kept_as_it_was(comment: str) -> None:
    assert written(comment) == comment


@pytest.mark.parametrize(
    ("comment", "kept"),
    [
        ("Yes.\n\nOn 4 May 2026, Ida wrote:\n\n> May I?\n> > Earlier", "Yes."),
        ("Yes.\n\nOn 4 May, Ida <ida@example.org>\nwrote:\n> May I?\n", "Yes."),
        ("On line 4 you wrote:\n\n> May I?", "On line 4 you wrote:\n\n> May I?"),
        ("On 4 May 2026 Ida wrote:\n\n> Hm\n\nNo.", "On 4 May 2026 Ida wrote:\n\n> Hm\n\nNo."),
        ("This is unclear:\n\n> May I?", "This is unclear:\n\n> May I?"),
        ("> May I?", "> May I?"),
    ],
)
def test_only_the_letter_that_a_mail_program_quotes_at_the_end_is_cut(
    comment: str, kept: str
) -> None:
    assert written(comment) == kept


def test_a_comment_that_cannot_be_read_whole_says_so() -> None:
    assert listen("short").is_whole
    assert not listen("a" * (MAX_CHARACTERS + 1)).is_whole
    assert not listen("- " * 50 + "word").is_whole
    assert not listen("[a](" * 5_000).is_whole


@pytest.mark.parametrize(
    "piece", ["[", "![", "[a](", "`", "<a ", "<b>", "*a_", "a <![CDATA[", "> "]
)
def test_no_comment_keeps_the_reader_busy(piece: str) -> None:
    began = time.perf_counter()

    listen(piece * (MAX_CHARACTERS // len(piece)))

    assert time.perf_counter() - began < 5


def test_a_mention_broken_on_purpose_stays_broken() -> None:
    assert visible("@\u200bfaber") == "@ faber"


MARKS = ("word", "```", "> ", "- ", "<b>", "</b>", "<!--", "-->", "\n", "\n\n", "    ", "`", "|")
markdown = st.lists(
    st.sampled_from((*MARKS, "[a](b)", "1.", "~~", "**", "---", "|-|\n")) | st.text(max_size=5),
    max_size=30,
).map("".join)


@given(markdown)
def test_whatever_was_written_it_is_heard_without_a_crash(comment: str) -> None:
    speech = listen(comment)

    assert not any("\n" in line.text for line in speech.lines)
    assert all(0 < line.first <= line.last for line in speech.lines)
