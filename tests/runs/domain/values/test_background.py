from runs.domain.values.background import Background, FormQuestion


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
            FormQuestion(text="Which?"),
            FormQuestion(text="How many?", options=("1", "2")),
            FormQuestion(text=""),
        ),
    )


def test_a_summary_that_the_prompt_says_already_is_not_said_twice() -> None:
    context = {"summary": "No space left."}

    assert Background.read(context, prompt="It failed: No space left.").summary == ""
    assert Background.read(context, prompt="It failed.").summary == "No space left."
