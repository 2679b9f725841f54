"""The commands of a comment, to the letter of the contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.channels.markdown import answer_text
from feedback.channels.markdown.commands import Command, CommandKind, parse
from runs.domain.values.questions import KNOWN_OPTIONS, FeedbackType, make_option
from tests.commands import faber

RUN = "acme/shop/0b8f4f0e-7a51-4c38-9d51-2f6f6c1d9a11"

COMMANDS = [
    ("@faber resume", Command(kind=CommandKind.RESUME)),
    ("@FABER Resume", Command(kind=CommandKind.RESUME)),
    ("  @faber resume  ", Command(kind=CommandKind.RESUME)),
    (f"@faber resume --run {RUN}", Command(kind=CommandKind.RESUME, run=RUN)),
    ("@faber resume --run=0b8f4f0e", Command(kind=CommandKind.RESUME, run="0b8f4f0e")),
    ("@faber resume —run 0b8f4f0e", Command(kind=CommandKind.RESUME, run="0b8f4f0e")),
    ("@faber resume approve", Command(kind=CommandKind.RESUME, response="approve")),
    (
        "@faber resume approve --run 0b8f4f0e",
        Command(kind=CommandKind.RESUME, response="approve", run="0b8f4f0e"),
    ),
    ("@faber resume postgres", Command(kind=CommandKind.RESUME, response="postgres")),
    ("@faber resume cancel", Command(kind=CommandKind.RESUME, response="cancel")),
    ("@faber approve", Command(kind=CommandKind.RESUME, response="approve")),
    ("@faber: Approve!", Command(kind=CommandKind.RESUME, response="approve")),
    ("@faber **approve**", Command(kind=CommandKind.RESUME, response="approve")),
    ("@faber reject", Command(kind=CommandKind.RESUME, response="reject")),
    ("@faber request changes", Command(kind=CommandKind.RESUME, response="request_changes")),
    ("@faber request-changes", Command(kind=CommandKind.RESUME, response="request_changes")),
    ("@faber lgtm", Command(kind=CommandKind.RESUME, response="lgtm")),
    ("@faber Looks good", Command(kind=CommandKind.RESUME, response="looks_good")),
    ("@faber retry", Command(kind=CommandKind.RESUME, response="retry")),
    ("@faber stop", Command(kind=CommandKind.RESUME, response="stop")),
    ("@faber 2", Command(kind=CommandKind.RESUME, response="2")),
    ("@faber option 12", Command(kind=CommandKind.RESUME, response="12")),
    (
        "@faber --run 0b8f4f0e skip",
        Command(kind=CommandKind.RESUME, response="skip", run="0b8f4f0e"),
    ),
    ("@faber status", Command(kind=CommandKind.STATUS)),
    ("@faber status --run 0b8f4f0e", Command(kind=CommandKind.STATUS, run="0b8f4f0e")),
    ("@faber cancel", Command(kind=CommandKind.CANCEL)),
    ("@faber cancel --run 0b8f4f0e", Command(kind=CommandKind.CANCEL, run="0b8f4f0e")),
    ("@faber help", Command(kind=CommandKind.HELP)),
    ("@faber start", Command(kind=CommandKind.START)),
    ("@faber start.", Command(kind=CommandKind.START)),
    ("@faber start **bug-fix**", Command(kind=CommandKind.START, workflow="bug-fix")),
    ("@faber Start Core!", Command(kind=CommandKind.START, workflow="core")),
]


@pytest.mark.parametrize(("body", "command"), COMMANDS, ids=[body for body, _ in COMMANDS])
def test_each_form_of_the_contract_is_understood(body: str, command: Command) -> None:
    assert parse(body) == command


@pytest.mark.parametrize(
    ("body", "feedback"),
    [
        (
            "I approve this design. The approach looks good.\n\n@faber resume",
            "I approve this design. The approach looks good.",
        ),
        ("I approve.\n@faber resume\n\n-- \nSent from my phone", "I approve."),
        ("> approve\n\nreject\n\n@faber resume", "> approve\n\nreject"),
        ("<!-- approve -->\n\nreject\n\n@faber resume", "<!-- approve -->\n\nreject"),
        (
            "@faber approve\n\nSee:\n\n> a quote\n> of two lines",
            "See:\n\n> a quote\n> of two lines",
        ),
        ("- > nested\n\n@faber approve", "- > nested"),
        ("Because:\n\n    indented()\n\n@faber reject", "Because:\n\n```\nindented()\n```"),
        (
            "<details><summary>Log</summary>\n\n```\nboom\n```\n\n</details>\n\n@faber retry",
            "<details><summary>Log</summary>\n\n```\nboom\n```\n\n</details>",
        ),
        (
            "@faber approve\n\nOn Mon, 4 May 2026 at 10:02, Ida <\nida@example.org> wrote:\n\n"
            "> ## Feedback Requested\n> @faber resume\n",
            "",
        ),
        ("Fine.\n@faber approve\n\nAm 4. Mai 2026 schrieb Ida:\n> Darf es?", "Fine."),
        ("before\n\n@faber approve\n\nafter", "before\n\nafter"),
        ("before\n@faber approve\nafter", "before\nafter"),
        ("- one\n- two\n@faber request_changes", "- one\n- two"),
        ("@faber approve, well done", "well done"),
        ("@faber request_changes: do not use globals", "do not use globals"),
        ("@faber reject it does not work", "it does not work"),
        ("Use `x` here\n\n@faber approve", "Use `x` here"),
        ("@faber resume\r\n", ""),
    ],
)
def test_the_other_words_are_the_feedback(body: str, feedback: str) -> None:
    command = parse(body)

    assert command
    assert command.feedback == feedback


def test_code_beside_a_command_stays_in_the_feedback_as_it_was_written() -> None:
    command = parse("Like this:\n```py\nx = 1\n@faber approve\n```\n\n@faber request_changes")

    assert command
    assert command.response == "request_changes"
    assert command.feedback == "Like this:\n```py\nx = 1\n@faber approve\n```"


@pytest.mark.parametrize(
    ("body", "feedback"),
    [
        ("@faber request_changes: rename `foo` to `bar`", "rename `foo` to `bar`"),
        ("@faber request_changes `a  b`", "`a  b`"),
        ("@faber request_changes in __init__.py, please!", "in __init__.py, please!"),
        ("@faber reject, see [the log](https://ci/1)", "see [the log](https://ci/1)"),
        ("@faber approve <!-- @faber reject -->", "<!-- @faber reject -->"),
        ("@faber request_changes like ![this](a.png)", "like ![this](a.png)"),
        ("**@faber request_changes:** use `x`", "use `x`"),
        ("**@faber request_changes: use `x`**", "use `x`"),
        ("@Faber **Approve** `x`", "`x`"),
        ("@faber --run 0b8f4f0e reject `x`", "`x`"),
        ("@faber reject `faber status --run 1` fails", "`faber status --run 1` fails"),
        ("@faber reject --run 0b8f4f0e `a --run 1` fails", "--run 0b8f4f0e `a --run 1` fails"),
        ("@faber ask why `x`?", "why `x`?"),
        ("@faber delegate rita look at `x`", "look at `x`"),
    ],
)
def test_code_on_the_line_of_the_command_stays_as_it_was_written(body: str, feedback: str) -> None:
    command = parse(body)

    assert command
    assert command.feedback == feedback


@pytest.mark.parametrize(
    ("body", "feedback"),
    [
        ("@faber resume use `postgres`", "use `postgres`"),
        ("@faber resume use `a`:\nit is quick", "use `a`:\n\nit is quick"),
        ("@faber resume `approve`", "`approve`"),
        ("Use this.\n@faber resume <!-- x -->\nSent by mail", "Use this.\n\n<!-- x -->"),
    ],
)
def test_an_answer_with_code_after_resume_is_a_text_and_names_no_option(
    body: str, feedback: str
) -> None:
    command = parse(body)

    assert command
    assert (command.kind, command.response) == (CommandKind.RESUME, None)
    assert command.feedback == feedback


@pytest.mark.parametrize(
    ("body", "has_words"),
    [
        ("@faber request_changes", False),
        ("> the whole request\n\n@faber request_changes", False),
        ("<!-- note -->\n\n@faber request_changes", False),
        ("@faber request_changes <!-- note -->", False),
        ("@faber request_changes `x`", True),
        ("> the whole request\n\nShorter.\n\n@faber request_changes", True),
        ("```\nx = 1\n```\n\n@faber request_changes", True),
        ("@faber request_changes: shorter", True),
    ],
)
def test_a_quote_alone_says_nothing(body: str, has_words: bool) -> None:
    command = parse(body)

    assert command
    assert command.has_words is has_words


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Nice work!",
        "I think @faber approve is wrong",
        "Ask @faber",
        "@faberbot approve",
        "@faber-bot approve",
        "@faber_x approve",
        "@faber.org is down",
        "@faber/team approve",
        "@faber's plan is good",
        "user@faber.org approve",
        "- @faber approve",
        "# @faber approve",
        "| @faber approve |\n|---|\n| x |",
        "\\@faber approve",
        "&#64;faber approve",
        "[@faber approve](https://example.org)",
        "~~@faber approve~~",
        "@\u200bfaber approve",
        "> earlier\n@faber approve",
    ],
)
def test_what_does_not_address_faber_is_no_command(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("@faber", "needs a command"),
        ("@faber!", "needs a command"),
        ("@faber thanks", "“thanks” is not a command"),
        ("@faber is a nice tool", "not a command"),
        ("@faber please approve", "not a command"),
        ("@faber `approve`", "not a command"),
        ("@faber app", "not a command"),
        ("@faber not approve", "not a command"),
        ("@faber status please", "not “please”"),
        ("@faber cancel the second one", "not “the second one”"),
        ("@faber resume --run", "--run"),
        ("@faber resume --run `0b8f4f0e`", "--run"),
        ("@faber resume --run a --run b", "--run"),
        ("@faber approve\n\n@faber reject", "more than one command"),
        ("@faber status\n@faber cancel", "more than one command"),
        ("@faber approve --run a\n@faber approve --run b", "more than one command"),
        ("@faber approve\n@faber thanks", "not a command"),
        ("@faber approve if you rename it", "condition"),
        ("@faber resume approve once CI is green", "condition"),
        ("@faber approve or reject", "another option"),
        ("@faber approve or not?", "question"),
        ("@faber approve?", "“approve?” is a question"),
        ("@faber approve ?", "question"),
        ("@faber approve\uff1f", "question"),
        ("@faber approve \u2047", "question"),
        ("@faber approve?!", "question"),
        ("@faber **approve?**", "question"),
        ("@faber approve (really?)", "question"),
        ("@faber approve or reject?", "question"),
        ("@faber approve? I think so", "not a command"),
        ("@faber approve this?", "question"),
        ("@faber reject?", "question"),
        ("@faber request_changes?", "question"),
        ("@faber lgtm?", "question"),
        ("@faber 2?", "question"),
        ("@faber option 2 ?", "question"),
        ("@faber resume?", "question"),
        ("@faber resume approve?", "question"),
        ("@faber cancel?", "question"),
        ("@faber cancel ?", "question"),
        ("@faber?", "needs a command"),
        ("@faber 2 unless it rains", "condition"),
        ("@faber reject if it fails", "condition"),
        ("@faber approve\n\n" + "[a](" * 5_000, "too long"),
    ],
)
def test_doubt_is_told_with_its_reason(body: str, reason: str) -> None:
    command = parse(body)

    assert command
    assert command.kind is CommandKind.UNCLEAR
    assert reason in command.reason


def test_the_same_command_twice_is_one() -> None:
    assert parse("fine\n@faber approve\n\n@faber approve") == Command(
        kind=CommandKind.RESUME, response="approve", feedback="fine", has_words=True
    )


def test_an_option_of_the_request_is_a_command_of_its_own() -> None:
    options = [make_option(FeedbackType.SELECTION, name) for name in ("Postgres", "SQLite 3")]

    assert parse("@faber postgres", options) == Command(
        kind=CommandKind.RESUME, response="Postgres"
    )
    assert parse("@faber sqlite 3", options) == Command(
        kind=CommandKind.RESUME, response="SQLite 3"
    )


spoken_commands = st.sampled_from([body for body, _ in COMMANDS])
any_text = st.text(max_size=40)
bits = st.lists(
    st.sampled_from(
        ["@faber", " approve", "\n", "\n\n", "```", "> ", "<!--", "-->", "--run ", "- "]
    )
    | st.text(max_size=4),
    max_size=25,
).map("".join)


@given(any_text | bits)
def test_no_text_breaks_the_parser(body: str) -> None:
    command = parse(body)

    assert command is None or bool(command.reason) is (command.kind is CommandKind.UNCLEAR)


@given(
    spoken_commands,
    st.sampled_from(
        [
            "```\n{}\n```",
            "~~~sh\n{}\n~~~",
            "````\n```\n{}\n```\n````",
            "    {}",
            "- item\n\n      {}",
            "`{}`",
            "`` {} ``",
            "> {}",
            "> > {}",
            "- > {}",
            "> text\n{}",
            "<!-- {} -->",
            "<!--\n{}\n-->",
            "<!--\n\n{}\n\n-->",
            "<pre>\n{}\n</pre>",
            "<div>\n{}\n</div>",
            "<blockquote>\n\n{}\n\n</blockquote>",
            "<details>\n\n{}\n\n</details>",
        ]
    ),
    st.sampled_from(["", "Some words.\n\n", "- a list\n\n"]),
    st.sampled_from(["", "\n\nMore words."]),
)
def test_a_command_in_code_quotes_or_html_never_counts(
    command: str, wrapping: str, before: str, after: str
) -> None:
    # Four spaces below a list belong to the list.
    if wrapping.startswith("    ") and "list" in before:
        before = ""
    assert parse(f"{before}{wrapping.format(command.strip())}{after}") is None


@pytest.mark.django_db
def test_parse_comment_prints_the_command_as_json() -> None:
    body = "Looks fine.\n\n@faber approve --run 0b8f4f0e"

    for answer in (
        faber("parse-comment", stdin=body),
        faber("parse-comment", "--json", stdin=body),
    ):
        assert answer.code == 0
        assert answer.document == {
            "command": "resume",
            "run": "0b8f4f0e",
            "response": "approve",
            "feedback": "Looks fine.",
        }


@pytest.mark.django_db
def test_parse_comment_prints_code_and_quotes_with_the_feedback() -> None:
    said = "> retries = 5\n\nToo many:\n```\nretries = 3\n```"

    answer = faber("parse-comment", "--json", stdin=f"{said}\n\n@faber request_changes")

    assert answer.document["feedback"] == said


@pytest.mark.django_db
def test_parse_comment_prints_null_when_there_is_no_command_and_says_why_it_is_unclear() -> None:
    silent = faber("parse-comment", stdin="`@faber approve`")
    unclear = faber("parse-comment", stdin="@faber thanks")

    assert (silent.document, silent.err) == (None, "")
    assert (unclear.document, unclear.err) == (None, "“thanks” is not a command.\n")


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("@faber status?", Command(kind=CommandKind.STATUS)),
        ("@faber help ?", Command(kind=CommandKind.HELP)),
        (
            "@faber approve, as in https://example.org/?a=b",
            Command(
                kind=CommandKind.RESUME,
                response="approve",
                feedback="as in https://example.org/?a=b",
                has_words=True,
            ),
        ),
        (
            "@faber request_changes: why is there no test?",
            Command(
                kind=CommandKind.RESUME,
                response="request_changes",
                feedback="why is there no test?",
                has_words=True,
            ),
        ),
        ("@faber resume why not both?", Command(kind=CommandKind.RESUME, response="why not both?")),
        ("@faber\u3000approve", Command(kind=CommandKind.RESUME, response="approve")),
    ],
)
def test_a_question_that_decides_nothing_stays_what_it_is(body: str, command: Command) -> None:
    assert parse(body) == command


@pytest.mark.parametrize(
    "piece",
    [
        *(" ", "\t", "\n", " .", "! ", "? ", ", ", "`", ">", "<!--", "["),
        *("--run ", " --run", "@faber ", "approve "),
    ],
)
@pytest.mark.parametrize("tail", ["x", "@faber approve"])
@pytest.mark.timeout(20)
def test_no_comment_keeps_the_reader_busy(piece: str, tail: str) -> None:
    # What grows with the square of the length would run into the time limit of the tests.
    for head in ("@faber approve", "@faber resume approve\n", "I approve"):
        parse(head + piece * (65_000 // len(piece)) + tail)
        answer_text.read(
            head + piece * (65_000 // len(piece)) + tail, FeedbackType.APPROVAL, KNOWN_OPTIONS
        )


def test_a_comment_longer_than_any_is_not_read_to_its_end() -> None:
    command = parse("@faber approve\n\n" + "x" * 10_000_000)

    assert command
    assert "too long" in command.reason


def test_words_beside_the_command_stand_before_what_they_speak_of() -> None:
    command = parse("Nearly.\n\n@faber request_changes use this:\n\n```\nx = 1\n```\n\n> as here\n")

    assert command
    assert command.feedback == "Nearly.\n\nuse this:\n\n```\nx = 1\n```\n\n> as here"


@pytest.mark.parametrize(
    "body",
    [
        "@faber start?",
        "@faber start bug-fix?",
        "@faber start please fix this",
        "@faber start `bug-fix`",
        "@faber start ../../evil.yaml",
        "@faber start flow.yaml",
        "@faber start --run 0b8f4f0e",
        "@faber start\n@faber start bug-fix",
    ],
)
def test_a_doubtful_start_starts_nothing(body: str) -> None:
    command = parse(body)
    assert command is not None
    assert command.kind is CommandKind.UNCLEAR


def test_the_text_beside_a_start_is_its_instructions() -> None:
    command = parse("Please keep the old names.\n\n@faber start\n")
    assert command == Command(
        kind=CommandKind.START, feedback="Please keep the old names.", has_words=True
    )


@pytest.mark.django_db
def test_parse_comment_shows_the_workflow_of_a_start() -> None:
    shown = faber("parse-comment", "--json", stdin="@faber start bug-fix")
    assert shown.document["command"] == "start"
    assert shown.document["workflow"] == "bug-fix"
