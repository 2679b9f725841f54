"""How a request is worded and titled, by the workflow and by whoever asks."""

from collections.abc import Mapping

import pytest

from runs.domain.planning import gates
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.plain_json import given
from runs.domain.values.questions import FeedbackType, Question
from runs.domain.workflow.plan import Plan
from tests import factories as f

DONE = Result(status=ResultStatus.SUCCESS, message="written")
WORDED = "Is {target} for {nobody} fit to ship?"


def plan_with(**fields: object) -> Plan:
    return f.plan_of(f.workflow({"build": [f.step("write", f.SUCCEED, **fields)]}))


def after(**fields: object) -> Question:
    plan = plan_with(requires_approval=True, **fields)
    return gates.addressed(plan, 0, gates.after_step(plan, 0, DONE))


def asking(pending: Mapping[str, object], input_type: str = "clarification") -> Question:
    result = Result(
        status=ResultStatus.PENDING_INPUT,
        message="need to know",
        pending_input=pending,
        details={"input_type": input_type},
    )
    return gates.on_pending_input(plan_with(), 0, result)


COLOURS = {"questions": [{"question": "Which colour?", "options": ["red", "blue"]}]}


def test_a_step_that_asks_for_a_choice_gets_one() -> None:
    question = asking({**COLOURS, "can_proceed_without": True}, "selection")

    assert (question.type, question.prompt) == ("selection", "Which colour?")
    assert [option.value for option in question.options] == ["red", "blue", "skip"]
    assert {option.action for option in question.options} == {"answer"}  # the step is told
    assert question.context["questions"] == []


@pytest.mark.parametrize("questions", [[], ["Which?"], [*COLOURS["questions"], "And why?"]])
def test_a_choice_between_nothing_is_asked_as_words(questions: list[object]) -> None:
    question = asking({"reason": "A colour is missing.", "questions": questions}, "selection")

    assert (question.type, question.options) == ("clarification", ())
    assert [*given(question.context, "questions", list)] == gates.questions_in(
        {"questions": questions}
    )


def test_a_workflow_words_the_request_after_its_step() -> None:
    question = after(question=WORDED, approval_type="review")

    asked = gates.filled(question, {"target": "the export"})

    assert asked.prompt == "Is the export for {nobody} fit to ship?"
    assert asked.title == ""  # the work names a review
    assert not asked.is_template


def test_a_workflow_words_the_request_before_its_step() -> None:
    plan = plan_with(confirm=True, question=WORDED)

    assert gates.before_step(plan, 0).prompt == WORDED


def test_where_both_ask_the_wording_is_that_of_the_review() -> None:
    plan = plan_with(confirm=True, requires_approval=True, question=WORDED)

    assert gates.before_step(plan, 0).prompt == "Go ahead with “write”?"
    assert gates.after_step(plan, 0, DONE).prompt == WORDED


def test_a_value_that_looks_like_a_placeholder_is_not_filled_again() -> None:
    known = {"target": "{step}", "step": "write"}

    once = gates.filled(after(question=WORDED), known)

    assert gates.filled(once, known).prompt == "Is {step} for {nobody} fit to ship?"


def test_a_long_value_does_not_make_an_endless_question() -> None:
    filled = gates.filled(after(question=WORDED), {"target": "x" * 90_000})

    assert len(filled.prompt) == gates.LONGEST_QUESTION


def test_a_selection_that_the_workflow_words_is_titled_by_its_question() -> None:
    worded = after(question=WORDED, approval_type="selection", options=["csv", "pdf"])
    unworded = after(approval_type="selection", options=["csv", "pdf"])

    assert gates.filled(worded, {"target": "it"}).title == "Is it for {nobody} fit to ship?"
    assert unworded.title == ""


@pytest.mark.parametrize(
    ("pending", "title"),
    [
        ({"reason": "Some facts are missing", "questions": ["Which database?"]}, "Which database?"),
        ({"reason": "Two facts are missing", "questions": ["Which?", "Why?"]}, None),
        ({"reason": "Which database?"}, "Which database?"),
        ({"reason": "No words", "questions": [""]}, "No words"),
    ],
)
def test_what_a_step_asks_is_titled_by_its_only_question(
    pending: Mapping[str, object], title: str | None
) -> None:
    assert asking(pending).title == (title or pending["reason"])


def test_an_approval_that_a_step_asks_for_is_titled_by_the_work() -> None:
    assert asking({"reason": "May I?"}, "approval").title == ""


@pytest.mark.parametrize(("kind", "most"), [("review", 3), ("approval", None)])
def test_rounds_are_limited_where_changes_can_be_requested(kind: str, most: int | None) -> None:
    question = after(approval_type=kind, max_rounds=3)

    assert question.type is FeedbackType(kind)
    assert question.max_rounds == most
