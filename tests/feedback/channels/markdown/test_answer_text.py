"""An answer is read from text only when there is no doubt about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.channels.markdown.answer_text import read
from runs.domain.values.questions import FeedbackType, make_option, options_of

REVIEW = options_of(FeedbackType.REVIEW)
DATABASES = tuple(make_option(FeedbackType.SELECTION, n) for n in ("Postgres", "SQLite 3", "none"))
SEEDS_EXAMPLE = "I approve this design. The approach looks good."


@pytest.mark.parametrize(
    ("text", "response", "comment"),
    [
        (SEEDS_EXAMPLE, "approve", SEEDS_EXAMPLE),
        ("approve", "approve", ""),
        ("Approve.", "approve", ""),
        ("**approve** - Continue to Build phase", "approve", "Continue to Build phase"),
        ("1. **approve** - Continue", "approve", "Continue"),
        ("- approve", "approve", ""),
        ("approve looks good to me", "approve", "looks good to me"),
        ("approve 👍", "approve", "👍"),
        ("approve\n\nNice work.", "approve", "Nice work."),
        ("Nice work.\napprove", "approve", "Nice work."),
        ("Thanks! Approved.", "approve", "Thanks! Approved."),
        ("approve\n\n> I do not approve", "approve", "> I do not approve"),
        ("approve, nothing to add", "approve", "nothing to add"),
        ("> Shall we?\n\napprove\n\nGo.", "approve", "> Shall we?\n\nGo."),
        ("approve\n\n```\nif x: reject\n```", "approve", "```\nif x: reject\n```"),
        ("1", "approve", ""),
        ("1.", "approve", ""),
        ("option 3, sadly", "reject", "sadly"),
        ("2: rename it", "request_changes", "rename it"),
        ("LGTM", "approve", ""),
        ("lgtm!", "approve", ""),
        ("Looks good to me", "approve", "Looks good to me"),
        ("yes", "approve", ""),
        ("Yes please", "approve", ""),
        ("ship it!", "approve", ""),
        ("No.", "reject", ""),
        ("We reject this", "reject", "We reject this"),
        ("I have approved it.", "approve", "I have approved it."),
        ("I approve.", "approve", ""),
        ("Great work. I approve.", "approve", "Great work. I approve."),
        ("I choose 3", "reject", ""),
        ("reject: if x is empty it does not work", "reject", "if x is empty it does not work"),
        ("Reject, it does not work.", "reject", "it does not work."),
        (
            "reject this because it does not work",
            "reject",
            "this because it does not work",
        ),
        (
            "request_changes: I can't approve this",
            "request_changes",
            "I can't approve this",
        ),
        (
            "Request changes\n\n- Reject empty input\n- Don't retry",
            "request_changes",
            "- Reject empty input\n- Don't retry",
        ),
        ("request changes: why `a`?", "request_changes", "why `a`?"),
        ("I request changes to `x`", "request_changes", "I request changes to `x`"),
    ],
)
def test_an_answer_without_doubt_is_read_with_its_comment(
    text: str, response: str, comment: str
) -> None:
    reading = read(text, FeedbackType.REVIEW, REVIEW)

    assert (reading.response, reading.comment, reading.reason) == (response, comment, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no text of your own"),
        ("> approve", "no text of your own"),
        ("<!-- approve -->", "no text of your own"),
        ("`approve`", "No line starts"),
        ("```\napprove\n```", "No line starts"),
        ("~~approve~~", "No line starts"),
        ("What a nice design", "No line starts"),
        ("No objections", "No line starts"),
        ("2 tests fail", "No line starts"),
        ("2.5 seconds is too slow", "No line starts"),
        ("1. Rename it\n2. Test it", "No line starts"),
        ("Ok this is odd", "No line starts"),
        ("We change our mind", "No line starts"),
        ("Approve would be premature", "No line starts"),
        ("I’d approve", "No line starts"),
        ("Rejoice", "No line starts"),
        ("I do not approve", "“I do not approve” says what not to do"),
        ("I approve nothing", "“nothing” says what not to do"),
        ("I approve of none of this.", "what not to do"),
        ("approve no changes", "what not to do"),
        ("I don’t approve this.", "what not to do"),
        ("don't merge", "what not to do"),
        ("do not approve", "what not to do"),
        ("I cannot approve this yet", "what not to do"),
        ("approve\n\nSorry, I do not approve.", "what not to do"),
        ("approve, do not wait", "what not to do"),
        ("reject not needed", "what not to do"),
        ("approve if you rename it", "condition"),
        ("I approve once CI is green", "condition"),
        ("Approve, but rename it", "condition"),
        ("Yes, unless CI is red", "condition"),
        ("Approve. But only if CI is green.", "condition"),
        ("approve\n\nOnly if CI is green", "condition"),
        ("reject if CI is red", "condition"),
        ("reject this design, if CI is red? ", "question"),
        ("request changes if CI is red", "condition"),
        ("approve or reject?", "question"),
        ("approve this?", "question"),
        ("Should we approve?", "question"),
        ("approve or reject", "another option"),
        ("reject and request changes", "another option"),
        ("approve\nreject", "more than one option: approve, reject"),
        ("approve the API\nreject the UI", "more than one"),
        ("I approve the API. I reject the UI.", "more than one"),
        ("request_changes: rename\n\napprove", "more than one"),
        ("1\n2", "more than one"),
        ("request_changes", "Say what should change"),
        ("2", "Say what should change"),
        ("> all of it\n\nrequest_changes", "Say what should change"),
        ("I request changes.", "Say what should change"),
        ("- **request_changes**", "Say what should change"),
        ("approve\n\n" + "[a](" * 5_000, "too long"),
    ],
)
def test_doubt_is_no_answer_but_a_reason(text: str, reason: str) -> None:
    reading = read(text, FeedbackType.REVIEW, REVIEW)

    assert reading.response is None
    assert reason in reading.reason


@pytest.mark.parametrize(
    ("text", "response"),
    [
        ("postgres", "Postgres"),
        ("SQLite 3, please", "SQLite 3"),
        ("I choose postgres", "Postgres"),
        ("We go with option 2", "SQLite 3"),
        ("We vote for none.", "none"),
        ("Postgres would be a mistake", None),
        ("I would not choose postgres", None),
        ("postgres or sqlite 3", None),
    ],
)
def test_a_selection_is_read_by_its_own_names(text: str, response: str | None) -> None:
    assert read(text, FeedbackType.SELECTION, DATABASES).response == response


def test_a_clarification_takes_the_whole_text_with_its_code_and_quotes() -> None:
    text = "> Which one?\n\nUse `postgres`, if it is there:\n```\nmake db\n```"

    reading = read(text, FeedbackType.CLARIFICATION, ())

    assert reading.response == text


def test_an_empty_clarification_is_no_answer() -> None:
    assert read("> Which one?", FeedbackType.CLARIFICATION, ()).response is None


def test_an_alias_of_two_offered_options_is_in_doubt() -> None:
    options = tuple(make_option(FeedbackType.SELECTION, name) for name in ("approve", "confirm"))

    assert "more than one" in read("yes", FeedbackType.SELECTION, options).reason


NAMES = ("approve", "reject", "request_changes", "yes", "no", "1", "2", "looks good", "design")
words = st.lists(
    st.sampled_from((*NAMES, "I", "We", "not", "if", "don't", "or", "`x`", "> "))
    | st.sampled_from("\n.?:,")
    | st.text(max_size=5),
    max_size=20,
).map(" ".join)


@given(words | st.text(), st.sampled_from(FeedbackType))
def test_whatever_is_written_it_is_an_offered_option_or_a_reason(
    text: str, feedback_type: FeedbackType
) -> None:
    options = options_of(feedback_type)

    reading = read(text, feedback_type, options)

    assert bool(reading.reason) is (reading.response is None)
    if reading.response and feedback_type is not FeedbackType.CLARIFICATION:
        assert reading.response in {option.value for option in options}


@given(st.sampled_from(["I do not {}", "I can't {} this", "We would never {} it", "Do not {}."]))
def test_a_negated_option_is_never_chosen(sentence: str) -> None:
    for option in REVIEW:
        text = sentence.format(option.value.replace("_", " "))
        assert read(text, FeedbackType.REVIEW, REVIEW).response is None
