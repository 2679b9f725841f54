"""A question that is asked again says which files changed since it was answered."""

from runs.domain.planning import asked_again
from runs.domain.planning.asked_again import FileChange
from runs.domain.values.questions import FeedbackType, Gate, Question

QUESTION = Question(
    type=FeedbackType.REVIEW, gate=Gate.AFTER_STEP, prompt="Fine?", context={"summary": "done"}
)
CHANGED = FileChange(path="a.md", shown=1, now=2)
DELETED = FileChange(path="b.md", shown=3, now=None, why="was deleted")


def test_it_names_each_file_in_a_sentence_before_the_question() -> None:
    again = asked_again.ask_again(QUESTION, after="fr-1", changes=[CHANGED, DELETED], gone=["b.md"])

    assert again.prompt == (
        "a.md changed after revision 1 was shown: now revision 2. "
        "b.md, shown as revision 3, was deleted. Fine?"
    )
    assert again.context["summary"] == "done"
    assert asked_again.changes_in(again.context) == [CHANGED, DELETED]
    assert asked_again.gone_before(again.context) == ("b.md",)


def test_the_third_time_it_begins_with_the_first_question_again() -> None:
    again = asked_again.ask_again(QUESTION, after="fr-1", changes=[CHANGED], gone=[])
    third = asked_again.ask_again(again, after="fr-2", changes=[DELETED], gone=["b.md"])

    assert third.prompt == "b.md, shown as revision 3, was deleted. Fine?"


def test_a_context_of_somebody_elses_making_says_nothing() -> None:
    for told in (None, "x", {"files": "x", "gone": "y"}, {"files": [1]}):
        assert asked_again.changes_in({asked_again.KEY: told}) == []
        assert asked_again.gone_before({asked_again.KEY: told}) == ()
