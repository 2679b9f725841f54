import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.questions import (
    SKIP_QUESTION,
    Action,
    FeedbackType,
    Option,
    make_option,
    options_of,
    resolve,
    spoken,
)

REVIEW = options_of(FeedbackType.REVIEW)


@pytest.mark.parametrize(
    ("feedback_type", "options"),
    [
        (FeedbackType.APPROVAL, {"approve": "continue", "reject": "abort"}),
        (FeedbackType.CONFIRMATION, {"confirm": "continue", "cancel": "abort"}),
        (FeedbackType.SELECTION, {}),
        (FeedbackType.CLARIFICATION, {}),
        (
            FeedbackType.REVIEW,
            {"approve": "continue", "request_changes": "revise", "reject": "abort"},
        ),
        (FeedbackType.ERROR_RESOLUTION, {"retry": "retry", "skip": "skip", "abort": "abort"}),
    ],
)
def test_each_type_offers_its_options_and_every_option_carries_its_action(
    feedback_type: FeedbackType, options: dict[str, str]
) -> None:
    offered = options_of(feedback_type)

    assert {option.value: option.action.value for option in offered} == options


@pytest.mark.parametrize(
    ("said", "response"),
    [
        ("approve", "approve"),
        ("Approve", "approve"),
        ('  "approve".', "approve"),
        ("1", "approve"),
        ("2", "request_changes"),
        ("lgtm", "approve"),
        ("Looks good", "approve"),
        ("yes", "approve"),
        ("Request changes", "request_changes"),
        ("request-changes", "request_changes"),
        ("revise", "request_changes"),
        ("no", "reject"),
        ("rej", "reject"),
        ("req", "request_changes"),
    ],
)
def test_an_answer_is_understood_by_option_number_alias_or_prefix(said: str, response: str) -> None:
    assert resolve(FeedbackType.REVIEW, REVIEW, said).response == response


@pytest.mark.parametrize(
    "said",
    ["", "0", "4", "-1", "²", "maybe", "ap", "re", "retry", "abort", "approve please", "１"],
)
def test_an_unknown_answer_is_refused_and_names_the_options(said: str) -> None:
    with pytest.raises(InvalidAnswer, match="approve, request_changes, reject") as refusal:
        resolve(FeedbackType.REVIEW, REVIEW, said)

    assert refusal.value.details["options"] == ["approve", "request_changes", "reject"]


def test_a_prefix_that_fits_two_options_is_refused() -> None:
    options = tuple(make_option(FeedbackType.SELECTION, name) for name in ("postgres", "postgis"))

    with pytest.raises(InvalidAnswer):
        resolve(FeedbackType.SELECTION, options, "post")


def test_a_no_is_no_short_form_of_an_option_that_goes_on() -> None:
    selection = FeedbackType.SELECTION
    options = (
        make_option(selection, "rejected", action=Action.CONTINUE),
        make_option(selection, "retry_all", action=Action.RETRY),
    )

    assert resolve(selection, options, "retry").response == "retry_all"
    assert resolve(selection, options, "reje").response == "rejected"
    with pytest.raises(InvalidAnswer):
        resolve(selection, options, "reject")


def test_of_options_that_differ_in_case_alone_each_can_be_chosen() -> None:
    options = tuple(make_option(FeedbackType.SELECTION, name) for name in ("a", "A", "!", "*"))

    for option in options:
        assert resolve(FeedbackType.SELECTION, options, option.value).response == option.value


@pytest.mark.parametrize("name", ["r\u200beject", "\u202ereject", "reject\u2060"])
def test_a_name_that_people_read_as_ours_keeps_its_action(name: str) -> None:
    with pytest.raises(ValueError, match="always means abort"):
        make_option(FeedbackType.SELECTION, name, action=Action.CONTINUE)


def test_an_alias_counts_only_where_its_option_is_offered() -> None:
    approval = options_of(FeedbackType.APPROVAL)

    with pytest.raises(InvalidAnswer):
        resolve(FeedbackType.APPROVAL, approval, "try again")


def test_confirm_continues_and_cancel_aborts() -> None:
    options = options_of(FeedbackType.CONFIRMATION)

    assert resolve(FeedbackType.CONFIRMATION, options, "confirm").action is Action.CONTINUE
    assert resolve(FeedbackType.CONFIRMATION, options, "cancel").action is Action.ABORT
    assert resolve(FeedbackType.CONFIRMATION, options, "no").response == "cancel"


@pytest.mark.parametrize("text", ["abort", "approve", "1", "retry please", "cancel"])
def test_a_clarification_takes_any_words_as_text(text: str) -> None:
    choice = resolve(FeedbackType.CLARIFICATION, (), text)

    assert (choice.response, choice.action) == (text, Action.ANSWER)


def test_a_clarification_that_may_be_skipped_knows_skip_as_a_whole_answer_only() -> None:
    skipped = resolve(FeedbackType.CLARIFICATION, (SKIP_QUESTION,), "skip")
    text = resolve(FeedbackType.CLARIFICATION, (SKIP_QUESTION,), "skip the tests")

    assert skipped.skipped
    assert not text.skipped
    assert text.response == "skip the tests"


def test_an_empty_clarification_is_refused() -> None:
    with pytest.raises(InvalidAnswer, match="Answer at least one question"):
        resolve(FeedbackType.CLARIFICATION, (), "  \n ")


def test_an_option_named_by_a_number_wins_over_the_position() -> None:
    options = tuple(make_option(FeedbackType.SELECTION, name) for name in ("2", "1"))

    assert resolve(FeedbackType.SELECTION, options, "2").response == "2"


def test_request_changes_needs_words_and_fix_brings_its_own() -> None:
    assert resolve(FeedbackType.REVIEW, REVIEW, "request_changes").needs_words
    assert not make_option(FeedbackType.SELECTION, "fix").needs_words


def test_a_selection_continues_with_what_was_chosen_unless_the_name_means_something_else() -> None:
    assert make_option(FeedbackType.SELECTION, "postgres").action is Action.CONTINUE
    assert make_option(FeedbackType.SELECTION, "abort").action is Action.ABORT


def test_an_option_of_another_type_must_say_its_action() -> None:
    with pytest.raises(ValueError, match="needs an action"):
        make_option(FeedbackType.APPROVAL, "later")

    later = make_option(FeedbackType.APPROVAL, "later", action=Action.SKIP)
    assert later == Option(value="later", action=Action.SKIP)


@given(st.text())
def test_whatever_is_said_it_is_an_offered_option_or_refused(said: str) -> None:
    try:
        choice = resolve(FeedbackType.REVIEW, REVIEW, said)
    except InvalidAnswer:
        return
    assert choice.response in {option.value for option in REVIEW}


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("request_changes", "Request changes"),
        ("Team Curie", "Team Curie"),
        ("eu-west-1", "eu-west-1"),
        ("v2.10", "v2.10"),
    ],
)
def test_a_button_says_words_and_leaves_identifiers_as_they_are(value: str, label: str) -> None:
    assert Option(value=value, action=Action.CONTINUE).label == label == spoken(value)
