from runs.domain.values.background import Background
from runs.domain.values.forms.questions import FormQuestion


def test_each_part_is_of_its_type_whatever_was_written() -> None:
    context = {
        "summary": 7,
        "errors": ["one", 2, None],
        "warnings": "not a list",
        "suggested_fixes": ("retry",),
        "error_analysis": None,
        "warning_analysis": "too slow",
        "questions": ["Which?", {"question": "How many?", "options": [1, 2]}, {}],
    }

    assert Background.read(context) == Background(
        errors=("one",),
        fixes=("retry",),
        analysis="too slow",
        questions=(
            FormQuestion(id="q1", text="Which?"),
            FormQuestion(id="q2", text="How many?", options=("1", "2")),
            FormQuestion(id="q3", text=""),
        ),
    )


def test_a_summary_that_the_prompt_says_already_is_not_said_twice() -> None:
    context = {"summary": "No space left."}

    assert Background.read(context, prompt="It failed: No space left.").summary == ""
    assert Background.read(context, prompt="It failed.").summary == "No space left."


def test_every_channel_is_told_the_same_parts_in_the_same_order() -> None:
    context = {
        "suggested_fixes": ["Wait.", "Retry."],
        "error_analysis": "It is the clock.",
        "warning_analysis": "And the time zone.",
        "warnings": ["old API"],
        "errors": ["boom"],
        "artifact_problems": [{"path": "x.md", "message": "x.md is missing."}, {"path": "y.md"}, 7],
        "questions": [{"question": "Which?", "options": ["a", "b"]}, "How many?"],
    }

    told = [(part.title, part.lines) for part in Background.read(context).sections]

    assert told == [
        ("Questions", ("1. Which? (a, b)", "2. How many?")),
        ("Files not shown", ("- x.md is missing.",)),
        ("Errors", ("- boom",)),
        ("Warnings", ("- old API",)),
        ("Analysis", ("It is the clock.\n\nAnd the time zone.",)),
        ("Suggested fixes", ("1. Wait.", "2. Retry.")),
    ]
    assert Background.read({"errors": [" "], "error_analysis": ""}).sections == ()
