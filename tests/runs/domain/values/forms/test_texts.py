import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.values.forms.filling import fill
from runs.domain.values.forms.questions import read_form
from runs.domain.values.forms.texts import as_text, read_text, values_in

FORM = read_form(
    [
        {"id": "rows", "question": "How many rows?", "type": "number"},
        {"id": "for", "question": "For whom?", "type": "multi", "options": ["Ann", "Bo, Ltd", "C"]},
        {"id": "why", "question": "Why?", "type": "text"},
        {"id": "else", "question": "Why?", "type": "text"},
        {"id": "zip", "question": "Zip: yes?", "type": "boolean"},
    ]
)
ONE = read_form([{"id": "rows", "question": "How many rows?", "type": "number"}])


@pytest.mark.parametrize(
    "text",
    [
        '{"rows": 5, "why": "a\\nb", "zip": false}',
        "rows: 5\nwhy: a\nb\nzip: no",
        "- rows = 5\n- **why:** a\nb\n- `zip`: no\n",
        "How many rows?: 5\nwhy: a\nb\n\nZip: yes?: no",
        "how many rows: 5\n3. a\nb\n5) no",
    ],
)
def test_answers_are_found_however_people_name_their_questions(text: str) -> None:
    filled = read_text(FORM, text)

    assert not filled.problems
    assert filled.values == {"rows": 5, "why": "a\nb", "zip": False}


def test_a_list_below_an_answer_is_part_of_it() -> None:
    assert read_text(FORM, "rows: 5\nwhy: two reasons\n1. speed\n1. size").values == {
        "rows": 5,
        "why": "two reasons\n1. speed\n1. size",
    }


def test_words_that_name_no_question_are_refused_with_what_would_be_understood() -> None:
    filled = read_text(FORM[:2], "five, for Ann")

    told = "Write each answer on a line of its own: `rows: …`, `for: …`"
    assert [str(each) for each in filled.problems] == [told]


@pytest.mark.parametrize("text", ["5", "rows: 5", "How many rows?: 5", '{"rows": 5}'])
def test_the_only_question_needs_no_name(text: str) -> None:
    assert read_text(ONE, text).values == {"rows": 5}


def test_a_wrong_answer_to_the_only_question_is_told_as_such() -> None:
    assert [str(each) for each in read_text(ONE, "rows, many").problems] == [
        'rows: must be a number, not "rows, many"'
    ]


def test_the_only_text_may_look_like_json() -> None:
    form = read_form([{"id": "body", "question": "Which body?", "type": "text"}])

    assert read_text(form, '{"a": 1}').values == {"body": '{"a": 1}'}


def test_answers_to_questions_without_a_type_have_no_values() -> None:
    assert values_in(read_form(["Which?"]), "This one") == {}


words = st.text(st.sampled_from("ab:1.`*-\n {}[]rowshy?"), max_size=30)


@given(
    answers=st.fixed_dictionaries(
        {
            "rows": st.integers(-(10**17), 10**17) | st.floats(-1e17, 1e17, allow_nan=False),
            "for": st.lists(st.sampled_from(FORM[1].options)),
            "why": words,
            "else": words,
            "zip": st.none() | st.booleans(),
        }
    )
)
def test_what_is_on_record_gives_the_values_again(answers: dict[str, object]) -> None:
    values = fill(FORM, answers).values

    assert read_text(FORM, as_text(FORM, values)).values == values
