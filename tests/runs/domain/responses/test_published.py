"""The published schema and the rules it is made from accept and refuse the same responses."""

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runs.domain.responses.published import SCHEMA
from runs.domain.responses.results import check_response
from runs.domain.responses.rules import KINDS, LONGEST, PENDING_KINDS, ResultStatus
from runs.domain.responses.severity import Severity
from runs.domain.values.forms.questions import FieldType

Json = dict[str, object]

PENDING: Json = {
    "status": "pending_input",
    "message": "Waiting for answers about the import format",
    "details": {"questions_asked": 3, "questions_pending": 3, "input_type": "clarification"},
    "pending_input": {
        "reason": "The format of dates is not settled",
        "questions_presented": True,
        "can_proceed_without": True,
        "timeout_behavior": "best_effort",
    },
}
QUESTIONS: Json = {
    "status": "pending_input",
    "message": "Which?",
    "pending_input": {
        "questions": ["Which one?", {"id": "a", "question": "Why?", "options": ["this", "that"]}]
    },
}

ACCEPTED: dict[str, Json] = {
    "success": {"status": "success", "message": "Made.", "details": {"spec_path": "a.md", "n": 7}},
    "warning": {
        "status": "warning",
        "message": "Compiled.",
        "warnings": ["Old API", {"text": "Large", "severity": "low", "category": "performance"}],
        "warning_analysis": "It will go away.",
        "suggested_fixes": ["Use the new one", {"description": "Split it", "file": "a.ts"}],
    },
    "failure": {
        "status": "failure",
        "message": "2 tests failed",
        "errors": ["test_a: no", {"text": "test_b: no", "suggested_fix": "await it"}],
        "warnings": ["also slow"],
        "error_analysis": "Not awaited.",
        "suggested_fixes": ["Await it"],
    },
    "pending input": PENDING,
    "questions": QUESTIONS,
    "typed questions": {
        **QUESTIONS,
        "pending_input": {
            "questions": [
                {"question": "How many?", "type": "number", "required": True},
                {"question": "Which?", "type": "multi", "options": ["this"], "required": False},
                {"question": "Why?", "type": "text", "options": []},
            ]
        },
    },
    "no errors": {"status": "success", "message": "Fine.", "errors": [], "warnings": []},
    "no message": {"status": "success"},
    "a failure that does not say why": {"status": "failure", "message": "No."},
    "the longest message": {"status": "success", "message": "é" * LONGEST["message"]},
    "an old success": {"success": True, "result": "Done"},
    "an old failure": {"success": False, "error": "It broke", "error_code": "E1"},
    "an old error": {"status": "error", "message": "It broke", "errors": ["why"]},
    "old warnings": {"status": "warning", "warning": ["slow", ""], "suggestion": "wait"},
}
REFUSED: dict[str, object] = {
    "nothing": {},
    "no object": ["success"],
    "a word": "success",
    "another status": {"status": "completed", "message": "x"},
    "no status": {"message": "x"},
    "a message that is none": {"status": "success", "message": None},
    "too long a message": {"status": "success", "message": "x" * (LONGEST["message"] + 1)},
    "an own key": {"status": "success", "message": "x", "extra_field": 1},
    "an empty error": {"status": "failure", "message": "x", "errors": [""]},
    "an error of spaces": {"status": "failure", "message": "x", "errors": [" \t"]},
    "an error without text": {"status": "failure", "message": "x", "errors": [{"severity": "low"}]},
    "another severity": {"status": "failure", "errors": [{"text": "x", "severity": "fatal"}]},
    "errors as text": {"status": "failure", "message": "x", "errors": "y"},
    "details as a list": {"status": "success", "message": "x", "details": []},
    "nothing was asked": {"status": "pending_input", "message": "x"},
    "nothing was presented": {
        **PENDING,
        "pending_input": {"reason": "x", "questions_presented": False, "questions": []},
    },
    "a question without words": {**QUESTIONS, "pending_input": {"questions": [{"id": "a"}]}},
    "an option without words": {
        **QUESTIONS,
        "pending_input": {"questions": [{"question": "x", "options": [""]}]},
    },
    "a question of no known type": {
        **QUESTIONS,
        "pending_input": {"questions": [{"question": "x", "type": "enum"}]},
    },
    "a choice between nothing": {
        **QUESTIONS,
        "pending_input": {"questions": [{"question": "x", "type": "choice", "options": []}]},
    },
    "options of a number": {
        **QUESTIONS,
        "pending_input": {"questions": [{"question": "x", "type": "number", "options": ["1"]}]},
    },
    "an old word of the wrong kind": {"success": "yes", "message": "x"},
    "an old error of spaces": {"success": False, "error": "  "},
}

published = jsonschema_rs.validator_for(SCHEMA)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_valid_is_accepted_by_both(name: str) -> None:
    published.validate(ACCEPTED[name])
    assert check_response(ACCEPTED[name]).valid


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_invalid_is_refused_by_both(name: str) -> None:
    assert not published.is_valid(REFUSED[name])
    assert not check_response(REFUSED[name]).valid


def test_the_schema_is_a_schema_and_knows_every_field() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    properties = SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert {"status", *KINDS} == {
        name for name, about in properties.items() if not about.get("deprecated")
    }
    assert set(properties["pending_input"]["properties"]) == set(PENDING_KINDS)


# Anything in today's words

texts = st.sampled_from(["", " ", "x", "said", "\u00e9", "y" * 501, "z" * 2001]) | st.text(
    max_size=3
)
plain = st.none() | st.booleans() | st.integers(-3, 3) | texts
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
)
items = (
    texts
    | values
    | st.fixed_dictionaries(
        {},
        optional={
            "text": texts | values,
            "description": texts | values,
            "severity": st.sampled_from([*Severity, "fatal"]) | values,
            "suggested_fix": values,
        },
    )
)
questions = (
    texts
    | values
    | st.fixed_dictionaries(
        {},
        optional={
            "id": texts | values,
            "question": texts | values,
            "options": st.lists(texts | values, max_size=2) | values,
            "type": st.sampled_from([*FieldType, "enum"]) | values,
            "required": st.booleans() | values,
        },
    )
)
pending = st.fixed_dictionaries(
    {},
    optional={
        "reason": values,
        "questions_presented": st.booleans() | values,
        "can_proceed_without": st.booleans() | values,
        "timeout_behavior": texts | values,
        "questions": st.lists(questions, max_size=2) | values,
        "own": values,
    },
)
FIELDS = {
    "status": st.sampled_from([*ResultStatus, "completed"]) | values,
    "message": texts | values,
    "details": st.dictionaries(texts, values, max_size=2) | values,
    "errors": st.lists(items, max_size=2) | values,
    "warnings": st.lists(items, max_size=2) | values,
    "error_analysis": texts | values,
    "warning_analysis": texts | values,
    "suggested_fixes": st.lists(items, max_size=2) | values,
    "pending_input": pending | values,
    "extra_field": values,
}
near_ones = st.fixed_dictionaries(
    {"status": st.sampled_from(ResultStatus)},
    optional={name: FIELDS[name] for name in FIELDS if name != "status"},
)


@given(near_ones | st.fixed_dictionaries({}, optional=FIELDS) | values)
@example({"status": "pending_input", "pending_input": {"questions": ["", "x"]}})
@example({"status": "pending_input", "pending_input": {"questions_presented": 1}})
def test_both_say_the_same_of_any_response_in_todays_words(document: object) -> None:
    assert published.is_valid(document) is check_response(document).valid, document
