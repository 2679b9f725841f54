"""One text for many runs: what each line means, and what no line may be taken for."""

from dataclasses import replace

import pytest

from feedback.batches.answer_lines import BatchAnswer, LineOutcome, listed, read
from runs.domain.planning.batch import Member
from runs.domain.values.questions import SKIP_QUESTION, FeedbackType
from runs.domain.values.status import RunStatus
from tests.runs.domain.planning.test_batch import asking, golden, member

AWAITING = RunStatus.AWAITING_FEEDBACK


def awaiting(work_id: str, kind: FeedbackType, prompt: str = "Well?") -> Member:
    return member(work_id, AWAITING, asks=asking(kind, prompt))


def outcomes(text: str, members: list[Member]) -> list[tuple[int, str, str]]:
    """Line, what becomes of it or the response, and the run as the end of its id."""
    return [
        (answer.line, str(answer.refused or answer.response), answer.run_id[-3:])
        for answer in read(text, members)
    ]


def only(text: str, members: list[Member]) -> BatchAnswer:
    (answer,) = read(text, members)
    return answer


def test_the_golden_answers_are_routed() -> None:
    text = "#124: approve\n#125: retry\n#126: abort\n#999: approve\n#123: approve"

    assert outcomes(text, golden()) == [
        (1, "approve", "124"),
        (2, "retry", "125"),
        (3, "abort", "126"),
        (4, "unknown_run", ""),
        (5, "not_awaiting", "123"),
    ]


def test_the_golden_invalid_answer_asks_only_that_run_again() -> None:
    assert outcomes("#124: maybe\n#125: retry", golden()) == [
        (1, "invalid_response", "124"),
        (2, "retry", "125"),
    ]
    assert "approve, request_changes, reject" in only("#124: maybe", golden()).message


@pytest.mark.parametrize(
    "line",
    [
        "#124: approve",
        "124: approve",
        "124 = Approve",
        "Run #124: approve",
        "run 124: APPROVE.",
        "- #124: lgtm",
        "* Run #124 :approve",
        "  #124: 1",
        "00000000-0000-4000-8000-000000000124: yes",
        "acme/app/00000000-0000-4000-8000-000000000124: approve",
        "Acme/App/00000000-0000-4000-8000-000000000124: app",
    ],
)
def test_every_way_to_name_a_run_and_its_option(line: str) -> None:
    answer = only(line, golden())

    assert (answer.refused, answer.run_id[-3:], answer.response) == (None, "124", "approve")


@pytest.mark.parametrize(
    "line", ["approve", "approve #124", "##124: approve", "> #124: approve", "#124:", "…", ": yes"]
)
def test_a_line_that_cannot_be_read_says_how_to_write_it(line: str) -> None:
    answer = only(line, golden())

    assert answer.refused is LineOutcome.UNREADABLE
    assert "Use the form `#124: approve`" in answer.message


def test_empty_lines_and_fences_are_passed_over_and_lines_keep_their_number() -> None:
    assert outcomes("```\n\r\n#124: approve\n```", golden()) == [(3, "approve", "124")]


@pytest.mark.parametrize(
    ("said", "response", "comment"),
    [
        ("retry because flaky", "retry", "because flaky"),
        ("retry, it is flaky", "retry", "it is flaky"),
        ("retry - flaky: yes", "retry", "flaky: yes"),
        ("2 not needed", "skip", "not needed"),
        ("retry", "retry", ""),
    ],
)
def test_the_first_word_answers_and_the_rest_is_the_comment(
    said: str, response: str, comment: str
) -> None:
    answer = only(f"125: {said}", golden())

    assert (answer.response, answer.comment) == (response, comment)


def test_an_option_of_several_words_is_taken_whole() -> None:
    answer = only("#124: Request changes: name the columns", golden())

    assert (answer.response, answer.comment) == ("request_changes", "name the columns")


def test_changes_without_words_are_refused() -> None:
    answer = only("#124: request_changes", golden())

    assert answer.refused is LineOutcome.INVALID_RESPONSE
    assert "say what should change" in answer.message


def test_a_clarification_takes_all_that_was_said() -> None:
    answer = only(
        "1: skip the beta, use 2: it is stable", [awaiting("1", FeedbackType.CLARIFICATION)]
    )

    assert (answer.response, answer.comment) == ("skip the beta, use 2: it is stable", "")


def test_two_runs_on_one_work_id_are_refused_with_both_ids() -> None:
    first, second = golden()[1], replace(golden()[2], work_id="124")

    answer = only("#124: approve", [first, second])

    assert answer.refused is LineOutcome.AMBIGUOUS
    assert answer.run_id == ""
    assert first.run_id in answer.message
    assert second.run_id in answer.message
    assert only(f"{first.run_id}: approve", [first, second]).response == "approve"


def test_a_prefix_that_fits_several_runs_is_ambiguous() -> None:
    assert only("00000000: approve", golden()).refused is LineOutcome.AMBIGUOUS
    assert only("0000000: approve", golden()).refused is LineOutcome.UNKNOWN_RUN


def test_a_work_id_that_is_also_the_beginning_of_a_uuid_is_ambiguous() -> None:
    other = replace(golden()[1], work_id="00000000", run_id="acme/app/11111111-" + "0" * 27)

    assert only("00000000: approve", [other, golden()[2]]).refused is LineOutcome.AMBIGUOUS


def test_a_contradiction_counts_for_nothing() -> None:
    assert outcomes("#124: approve\n#125: retry\n#124: reject", golden()) == [
        (1, "ambiguous", "124"),
        (2, "retry", "125"),
        (3, "ambiguous", "124"),
    ]


def test_the_same_said_twice_counts_once() -> None:
    assert outcomes("#124: approve\nrun 124: yes", golden()) == [
        (1, "approve", "124"),
        (2, "already_answered", "124"),
    ]


def test_an_invalid_line_does_not_spoil_the_valid_one() -> None:
    assert outcomes("#124: approve\n#124: maybe", golden()) == [
        (1, "approve", "124"),
        (2, "invalid_response", "124"),
    ]


def test_all_reaches_everybody_that_asks_the_same() -> None:
    members = [awaiting(n, FeedbackType.APPROVAL) for n in ("1", "2", "3")]

    assert outcomes("all: yes", members) == [
        (1, "approve", "001"),
        (1, "approve", "002"),
        (1, "approve", "003"),
    ]


def test_who_is_named_is_not_meant_by_all() -> None:
    members = [awaiting(n, FeedbackType.APPROVAL) for n in ("1", "2", "3")]

    assert outcomes("all: approve\n#2: reject", members) == [
        (1, "approve", "001"),
        (1, "approve", "003"),
        (2, "reject", "002"),
    ]
    # Also when what was said for it cannot be taken.
    assert outcomes("all: approve\n#2: perhaps", members)[2] == (2, "invalid_response", "002")
    assert len(outcomes("all: approve\n#2: perhaps", members)) == 3


def test_all_means_only_options_by_name_where_runs_ask_different_things() -> None:
    members = [
        awaiting("1", FeedbackType.APPROVAL),
        awaiting("2", FeedbackType.REVIEW),
        awaiting("3", FeedbackType.CLARIFICATION),
        member("4", RunStatus.FAILED, error="broke"),
        member("5", RunStatus.COMPLETED),
    ]

    assert outcomes("all: approve", members) == [
        (1, "approve", "001"),
        (1, "approve", "002"),
        (1, "invalid_response", "003"),
        (1, "invalid_response", "004"),
    ]
    assert {what for _, what, _ in outcomes("all: 1", members)} == {"invalid_response"}
    assert {what for _, what, _ in outcomes("all: yes", members)} == {"invalid_response"}


def test_all_never_speaks_for_a_question_in_words() -> None:
    question = replace(asking(FeedbackType.CLARIFICATION, "Which?"), options=(SKIP_QUESTION,))
    members = [
        awaiting("1", FeedbackType.ERROR_RESOLUTION),
        member("2", AWAITING, asks=question),
    ]

    assert outcomes("all: skip", members) == [
        (1, "skip", "001"),
        (1, "invalid_response", "002"),
    ]


def test_all_gives_words_only_to_runs_that_ask_the_same_question() -> None:
    same = [awaiting(n, FeedbackType.CLARIFICATION, "Which database?") for n in ("1", "2")]
    other = awaiting("3", FeedbackType.CLARIFICATION, "Which colour?")

    assert outcomes("all: PostgreSQL 18", same) == [
        (1, "PostgreSQL 18", "001"),
        (1, "PostgreSQL 18", "002"),
    ]
    assert {what for _, what, _ in outcomes("all: PostgreSQL 18", [*same, other])} == {
        "invalid_response"
    }


def test_all_when_nobody_asks() -> None:
    assert outcomes("all: approve", [member("1", RunStatus.COMPLETED)]) == [(1, "not_awaiting", "")]


def test_answers_of_a_program_are_understood_alike() -> None:
    given = listed(
        {
            "#124": {"response": "request_changes", "comment": "Name the columns."},
            "125": {"response": "3"},
            "999": {"response": "approve"},
            "126": {},
        },
        golden(),
    )

    assert [(a.line, str(a.refused or a.response), a.comment) for a in given] == [
        (1, "request_changes", "Name the columns."),
        (2, "abort", ""),
        (3, "unknown_run", ""),
        (4, "invalid_response", ""),
    ]


@pytest.mark.parametrize("said", ["approve?", "approve ?", "approve\uff1f", "approve? I think so"])
def test_a_question_is_no_answer(said: str) -> None:
    members = [awaiting("124", FeedbackType.APPROVAL), awaiting("125", FeedbackType.APPROVAL)]

    for text in (f"#124: {said}", f"all: {said}"):
        assert {answer.refused for answer in read(text, members)} == {LineOutcome.INVALID_RESPONSE}


def test_a_number_of_many_digits_is_no_option() -> None:
    answer = only(f"#124: {'9' * 5_000}", [awaiting("124", FeedbackType.APPROVAL)])

    assert answer.refused is LineOutcome.INVALID_RESPONSE
