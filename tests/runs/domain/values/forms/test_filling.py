import pytest

from runs.domain.values.forms.filling import Value, fill
from runs.domain.values.forms.questions import read_form

FORM = read_form(
    [
        {"id": "rows", "question": "How many rows?", "type": "number", "required": True},
        {"id": "until", "question": "Until when?", "type": "date"},
        {"id": "zip", "question": "Zip it?", "type": "boolean"},
        {"id": "as", "question": "Which format?", "type": "choice", "options": ["CSV", "Excel 97"]},
        {"id": "for", "question": "For whom?", "type": "multi", "options": ["Ann", "Bo, Ltd", "C"]},
        {"id": "why", "question": "Why?", "type": "text"},
    ]
)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("rows", 12, 12),
        ("rows", "12", 12),
        ("rows", " -0.5 ", -0.5),
        ("rows", "007", 7),
        ("until", "2028-02-29", "2028-02-29"),
        ("zip", True, True),
        ("zip", "No", False),
        ("zip", "y", True),
        ("as", "csv", "CSV"),
        ("as", "2", "Excel 97"),
        ("for", ["C", "Ann"], ["Ann", "C"]),
        ("for", "c, ann", ["Ann", "C"]),
        ("for", "Bo,Ltd; 1", ["Ann", "Bo, Ltd"]),
        ("why", " a\r\nb ", "a\nb"),
    ],
)
def test_an_answer_that_fits_becomes_a_value_of_its_type(
    name: str, given: object, value: Value
) -> None:
    filled = fill(FORM, {"rows": 1, name: given})

    assert not filled.problems
    assert filled.values[name] == value
    assert type(filled.values[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("rows", "many", 'must be a number, not "many"'),
        ("rows", True, "must be a number, not true"),
        ("rows", "1,000", 'must be a number, not "1,000"'),
        ("rows", float("nan"), "must be a number, not NaN"),
        ("rows", "1e999", "must be a number, not Infinity"),
        ("rows", 10**30, f"must be a number, not {10**30}"),
        ("rows", "", "needs an answer"),
        ("until", "2027-02-29", 'must be a date such as 2026-11-16, not "2027-02-29"'),
        ("until", "20270101", 'must be a date such as 2026-11-16, not "20270101"'),
        ("until", 20270101, "must be a date such as 2026-11-16, not 20270101"),
        ("zip", "maybe", 'must be yes or no, not "maybe"'),
        ("zip", 1, "must be yes or no, not 1"),
        ("as", "3", 'must be one of CSV, Excel 97, not "3"'),
        ("as", ["CSV"], 'must be one of CSV, Excel 97, not ["CSV"]'),
        ("for", "Ann, Zoe", 'must be one of Ann, Bo, Ltd, C, not "Zoe"'),
        ("for", {"Ann": True}, 'must be a list of Ann, Bo, Ltd, C, not {"Ann": true}'),
        ("why", 7, "must be a text, not 7"),
        ("whom", "x", "is not one of the questions: rows, until, zip, as, for, why"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_with_its_place(
    name: str, given: object, told: str
) -> None:
    filled = fill(FORM, {"rows": 1, name: given})

    assert [(each.place, each.message) for each in filled.problems] == [(name, told)]


def test_every_problem_is_told_at_once() -> None:
    filled = fill(FORM, {"until": "soon", "zip": "maybe"})

    assert [each.place for each in filled.problems] == ["rows", "until", "zip"]


@pytest.mark.parametrize("nothing", [None, "", "  ", []])
def test_what_is_not_required_may_be_left_out(nothing: object) -> None:
    assert fill(FORM, {"rows": 1, "for": nothing}).values == {"rows": 1}


def test_a_form_without_any_answer_is_none() -> None:
    filled = fill(read_form(["Which?"]), {"q1": " "})

    assert [str(each) for each in filled.problems] == ["Answer at least one question."]
