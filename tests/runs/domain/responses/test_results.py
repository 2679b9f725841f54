"""Whatever a step hands back, the engine gets a result it can act on."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.responses.results import (
    LONGEST_KEPT,
    Result,
    ResultStatus,
    check_response,
    failure,
    read_response,
    to_json,
)

STEP = "build:implement"

SUCCESS: dict[str, object] = {
    "status": "success",
    "message": "Specification generated successfully",
    "details": {"spec_path": "/specs/WORK-00123-feature.md", "word_count": 2847, "sections": 7},
}
WARNING: dict[str, object] = {
    "status": "warning",
    "message": "Build completed with deprecated API usage",
    "details": {"files_compiled": 45, "warnings_found": 3},
    "warnings": [
        "Deprecated API: useCallback (will be removed in v3.0)",
        "Performance: Large bundle size (2.5MB)",
        "Missing type annotations in 2 files",
    ],
    "warning_analysis": "The deprecated API usage should be addressed before the next upgrade.",
    "suggested_fixes": [
        "Replace useCallback with useMemo for memoization",
        "Code split lazy-loaded components to reduce bundle",
        "Add type annotations to exported functions",
    ],
}
FAILURE: dict[str, object] = {
    "status": "failure",
    "message": "Test suite failed - 5 tests failed",
    "details": {"total_tests": 47, "passed": 42, "failed": 5, "skipped": 0},
    "errors": [
        "test_auth_login: AssertionError: expected true but got false",
        "test_auth_logout: TimeoutError: HTTP request timeout (30s)",
        "test_token_refresh: KeyError: 'refresh_token' not in response",
    ],
    "error_analysis": "Authentication tests are failing due to session handling issues.",
    "suggested_fixes": [
        "Add await to session.cleanup() in logout handler",
        "Check token refresh expiry calculation",
        "Verify session state is cleared before new login",
    ],
}
MIXED: dict[str, object] = {
    "status": "failure",
    "message": "Deployment failed with multiple issues",
    "errors": ["Health check failed", "Database migration failed"],
    "warnings": ["Deprecated environment variable", "Config file permissions are too open"],
}
PENDING: dict[str, object] = {
    "status": "pending_input",
    "message": "Awaiting user response to refinement questions",
    "details": {"questions_asked": 5, "questions_pending": 5, "input_type": "clarification"},
    "pending_input": {
        "reason": "Specification refinement requires user clarification",
        "questions_presented": True,
        "can_proceed_without": True,
        "timeout_behavior": "best_effort",
    },
}


def done(**fields: object) -> dict[str, object]:
    return {"status": "success", "message": "Done it.", **fields}


def pending(**fields: object) -> dict[str, object]:
    return {"status": "pending_input", "message": "Asked.", "pending_input": fields}


def nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


def errors_of(document: object) -> list[str]:
    return [str(problem) for problem in check_response(document).errors]


def warnings_of(document: object) -> list[str]:
    return [str(problem) for problem in check_response(document).warnings]


@pytest.mark.parametrize("document", [SUCCESS, WARNING, FAILURE, MIXED, PENDING])
def test_the_published_examples_are_valid_and_come_back_word_for_word(
    document: dict[str, object],
) -> None:
    checked = check_response(document)

    assert (checked.valid, checked.warnings) == (True, ())
    assert checked.result is not None
    assert to_json(checked.result) == document
    assert read_response(document, step=STEP) == checked.result


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (None, "no valid result object was returned, only null"),
        ([], "no valid result object was returned, only []"),
        ("Done", 'no valid result object was returned, only "Done"'),
        (True, "no valid result object was returned, only true"),
        (
            {"details": {1, 2}},
            "no valid result object was returned: Object of type set is not JSON",
        ),
        ({"message": "x"}, "status: is missing; it must be one of success, warning, failure, pend"),
        (done(status="unknown"), 'status: "unknown" is not one of success, warning, failure, pend'),
        (done(status="completed"), 'status: "completed" is not one of'),
        (done(status="Success"), 'status: "Success" is not one of'),
        (done(status=None), "status: null is not one of"),
        (done(status=["success"]), 'status: ["success"] is not one of'),
        (done(message=5), "message: must be a string, not 5"),
        (done(details=[]), "details: must be an object, not []"),
        (done(errors="Boom"), 'errors: must be a list, not "Boom"'),
        (done(warnings={}), "warnings: must be a list, not {}"),
        (done(error_analysis=["x"]), 'error_analysis: must be a string, not ["x"]'),
        (done(warning_analysis=1), "warning_analysis: must be a string, not 1"),
        (done(suggested_fixes="x"), 'suggested_fixes: must be a list, not "x"'),
        (done(pending_input=True), "pending_input: must be an object, not true"),
        (done(warnings=["x", 3]), "warnings[1]: must be a string, or an object with text, not 3"),
        (done(errors=[{"message": "x"}]), "errors[0]: must be a string, or an object with text"),
        (done(suggested_fixes=[{"text": "x"}]), "suggested_fixes[0]: must be a string, or an ob"),
        (pending(), "pending_input: no questions"),
        (pending(questions=[]), "pending_input: no questions"),
        (pending(questions_presented=False), "pending_input: no questions"),
        (pending(questions_presented="yes"), "pending_input: no questions"),
        ({"status": "pending_input", "message": "Asked."}, "pending_input: no questions"),
        (pending(questions="Which?"), "pending_input: no questions"),
        (pending(questions=[" "]), "pending_input.questions[0].question: is empty"),
        (pending(questions=[{"id": "db"}]), "pending_input.questions[0].question: is empty"),
        (pending(questions=[7]), "pending_input.questions[0].question: must be a string, not 7"),
        (
            pending(questions=["A?", {"question": "B?", "options": "x"}]),
            "pending_input.questions[1].op",
        ),
        (
            pending(questions=[{"question": "B?", "options": ["x", ""]}]),
            "pending_input.questions[0].options[1]: is empty",
        ),
        (
            pending(questions=[{"question": "B?", "options": [{"label": "x"}]}]),
            'pending_input.questions[0].options[0]: must be a string, not {"label": "x"}',
        ),
        (
            pending(questions=["A?"], can_proceed_without="no"),
            "pending_input.can_proceed_without: m",
        ),
        ({"success": "yes", "result": "x"}, 'success: must be true or false, not "yes"'),
        ({"result": "x"}, "status: is missing"),
        ({"success": True, "details": [1]}, "details: must be an object, not [1]"),
        ({"success": True, "errors": "A", "error": "B"}, 'errors: must be a list, not "A"'),
        (
            done(details={"a": nested(150)}),
            "no valid result object was returned: it is nested too d",
        ),
    ],
)
def test_what_cannot_be_acted_on_is_invalid_and_fails_the_step(
    document: object, error: str
) -> None:
    checked = check_response(document)
    result = read_response(document, step=STEP)

    assert str(checked.errors[0]).startswith(error)
    assert checked.result is None
    assert result.status is ResultStatus.FAILURE
    assert result.message == "The step build:implement returned no valid result."
    assert result.errors[0].startswith(f"build:implement: {error}")


@pytest.mark.parametrize("document", [None, "Done", ["x"], {"status": "completed", "x": [1]}])
def test_an_unusable_response_is_kept_as_it_came(document: object) -> None:
    assert read_response(document, step=STEP).details == {"raw": document}


def test_what_is_not_json_is_not_kept() -> None:
    assert read_response({"details": {1, 2}}, step=STEP).details == {}


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (done(extra_field=1), "extra_field: is unknown; put your own fields in details"),
        (done(message="x" * 501), "message: has 501 characters, more than 500"),
        (done(error_analysis="x" * 2001), "error_analysis: has 2001 characters, more than 2000"),
        (done(warning_analysis="x" * 2001), "warning_analysis: has 2001 characters, more than"),
        (done(errors=[""]), "errors[0]: is empty"),
        (done(warnings=["w", " \n"]), "warnings[1]: is empty"),
        (done(suggested_fixes=[{"description": ""}]), "suggested_fixes[0]: is empty"),
        (done(warnings=[{"text": "w", "severity": "dire"}]), 'warnings[0].severity: "dire" is not'),
        (done(errors=None), "errors: must be a list, not null"),
        (done(details=None), "details: must be an object, not null"),
        (done(message=None), "message: must be a string, not null"),
    ],
)
def test_what_is_only_against_the_letter_is_invalid_but_no_reason_to_fail_a_run(
    document: object, error: str
) -> None:
    result = read_response(document, step=STEP)

    assert [text.startswith(error) for text in errors_of(document)] == [True]
    assert result.status is ResultStatus.SUCCESS
    assert [text for text in result.notes if text.startswith(error)]


@pytest.mark.parametrize(
    "document",
    [
        done(message="x" * 500, error_analysis="x" * 2000, warning_analysis="x" * 2000),
        done(errors=[]),
        {**FAILURE, "warnings": []},
        done(warnings=["Two files were skipped"]),
        pending(questions=["Which database?"]),
        pending(questions=[{"id": "db", "question": "Which?", "options": ["sqlite", "postgres"]}]),
        done(
            warnings=[{"text": "Slow", "severity": "low", "category": "performance"}],
            suggested_fixes=[{"description": "Cache it", "command": "make cache", "file": "a.py"}],
        ),
    ],
)
def test_what_the_format_allows_raises_no_objection(document: dict[str, object]) -> None:
    assert errors_of(document) == warnings_of(document) == []
    assert read_response(document, step=STEP).status == document["status"]


@pytest.mark.parametrize("message", ["", "  ", "absent"])
def test_a_missing_message_is_a_warning_and_a_note(message: str) -> None:
    document = {"status": "success", "message": message}
    if message == "absent":
        del document["message"]

    assert warnings_of(document) == ["message: is missing; describe what happened in one sentence"]
    result = read_response(document, step=STEP)
    assert (result.status, result.message, result.warnings) == ("success", "(no message)", ())
    assert result.notes == ("message: is missing; describe what happened in one sentence",)


def test_a_long_message_is_kept_whole() -> None:
    result = read_response(done(message="x" * LONGEST_KEPT, details={"a": 1}), step=STEP)

    assert result.message == "x" * LONGEST_KEPT
    assert result.details == {"a": 1}


def test_a_message_beyond_all_bounds_says_how_much_of_it_was_cut() -> None:
    endless = "x" * 1_234_567
    result = read_response(done(message=endless, details={"a": 1}), step=STEP)

    assert result.message.endswith("xxx… (1,214,627 more characters omitted)")
    assert result.message.count("x") == 1_234_567 - 1_214_627
    assert result.details == {"a": 1, "message": endless}
    assert read_response(to_json(result), step=STEP).message == result.message


@pytest.mark.parametrize("errors", [{}, {"errors": []}])
def test_a_failure_that_names_no_error_gets_one(errors: dict[str, object]) -> None:
    document = {"status": "failure", "message": "Broke.", **errors}

    assert warnings_of(document) == ["errors: is empty, but the status is failure"]
    assert read_response(document, step=STEP).errors == (
        "The step failed without giving a reason.",
    )


@pytest.mark.parametrize("warnings", [{}, {"warnings": []}])
def test_a_warning_that_names_no_warning_gets_one(warnings: dict[str, object]) -> None:
    document = {"status": "warning", "message": "Hm.", **warnings}

    assert warnings_of(document) == ["warnings: is empty, but the status is warning"]
    result = read_response(document, step=STEP)
    assert result.warnings == ("The step reported a warning without details.",)


def test_an_empty_error_is_left_out() -> None:
    document = {"status": "failure", "message": "Broke.", "errors": ["", "Disk full"]}

    assert read_response(document, step=STEP).errors == ("Disk full",)


@pytest.mark.parametrize("status", ["success", "warning"])
def test_any_error_makes_it_a_failure(status: str) -> None:
    document = done(status=status, errors=["Disk full"], warnings=["w"])

    assert warnings_of(document) == [f"status: is {status}, but any error makes it failure"]
    result = read_response(document, step=STEP)
    assert (result.status, result.errors) == (ResultStatus.FAILURE, ("Disk full",))


def test_errors_beside_a_question_leave_the_question_standing() -> None:
    document = {**PENDING, "errors": ["Could not guess"]}

    assert read_response(document, step=STEP).status is ResultStatus.PENDING_INPUT


def test_of_an_extended_item_the_text_and_the_fix_are_taken() -> None:
    item = {"text": "Slow query", "severity": "high", "suggested_fix": "Add an index"}
    fix = {"description": "Cache it", "command": "make cache"}

    result = read_response(done(warnings=[item], suggested_fixes=[fix]), step=STEP)

    assert result.warnings == ("Slow query",)
    assert result.suggested_fixes == ("Cache it", "Add an index")
    assert result.severities == {"Slow query": "high"}


LEGACY = [
    ({"success": True, "result": "Operation completed"}, "success", "Operation completed"),
    ({"success": False, "error": "Disk full"}, "failure", "Disk full"),
    ({"success": False}, "failure", "(no message)"),
    ({"status": "error", "error_message": "Disk full"}, "failure", "Disk full"),
    ({"status": "error", "message": "m"}, "failure", "m"),
    ({"success": True, "message": "Said.", "output": "Printed."}, "success", "Said."),
    ({"success": False, "data": {"a": 1}, "error": "Disk full"}, "failure", "Disk full"),
    ({"success": False, "status": "success", "message": "Hm."}, "failure", "Hm."),
    (
        {"success": False, "status": "pending_input", **pending(questions=["?"])},
        "pending_input",
        "Asked.",
    ),
    ({"success": True, "status": "warning", "message": "m", "note": "n"}, "warning", "m"),
    ({"success": True, "error": None, "message": "m"}, "success", "m"),
    ({"success": True, "error": "Disk full", "message": "m"}, "failure", "m"),
    ({"status": "success", "message": "m", "error": "Disk full"}, "failure", "m"),
]


@pytest.mark.parametrize(("document", "status", "message"), LEGACY)
def test_an_old_response_is_converted_and_kept_whole(
    document: dict[str, object], status: str, message: str
) -> None:
    checked = check_response(document)

    assert checked.valid
    assert any("deprecated" in str(problem) for problem in checked.warnings)
    assert checked.result is not None
    assert (checked.result.status, checked.result.message) == (status, message)
    assert checked.result.details["legacy"] == document
    assert any("deprecated" in note for note in checked.result.notes)
    assert not any("deprecated" in warning for warning in checked.result.warnings)


def test_every_old_field_finds_its_place() -> None:
    document = {
        "success": False,
        "data": {"path": "a.py"},
        "error": "Disk full",
        "error_message": {"code": 28},
        "warning": ["Low on memory"],
        "note": "Cached",
        "suggestion": "Free some space",
        "can_retry": True,
    }

    result = read_response(document, step=STEP)

    assert result.details == {"path": "a.py", "legacy": document}
    assert result.errors == ("Disk full", '{"code": 28}')
    assert result.warnings == ("Low on memory", "Cached")
    assert result.suggested_fixes == ("Free some space",)
    assert warnings_of(document)[:2] == [
        "success: is deprecated, use status",
        "data: is deprecated, use details",
    ]
    assert "can_retry: is deprecated, and not used" in result.notes


def test_an_old_response_with_new_fields_keeps_both() -> None:
    document = {
        "success": False,
        "errors": ["A"],
        "error": "B",
        "details": {"x": 1},
        "data": {"y": 2},
    }

    result = read_response(document, step=STEP)

    assert result.errors == ("A", "B")
    assert result.details == {"x": 1, "y": 2, "legacy": document}


def test_a_null_beside_an_old_field_takes_nothing_from_it() -> None:
    document = {"success": False, "details": None, "data": {"y": 2}, "errors": None, "error": "B"}

    result = read_response(document, step=STEP)

    assert result.errors == ("B",)
    assert result.details == {"y": 2, "legacy": document}


def test_an_unknown_status_is_not_saved_by_an_old_field() -> None:
    assert (
        'status: "completed" is not one of'
        in errors_of({"success": True, "status": "completed"})[0]
    )


def test_what_a_database_cannot_keep_does_not_get_that_far() -> None:
    details = {"coverage": float("nan"), "nul": "a\0b", "half": "\ud83d", "slash": "\\u0000\\\0"}

    result = read_response(done(details=details), step=STEP)

    assert result.details == {
        "coverage": None,
        "nul": "a\ufffdb",
        "half": "?",
        "slash": "\\u0000\\\ufffd",
    }


@pytest.mark.parametrize("depth", [98, 99, 100, 101, 300, 900, 950, 980, 990, 1000, 5000])
def test_a_response_nested_beyond_measure_is_a_failure_at_worst(depth: int) -> None:
    value = nested(depth)

    for document in (value, done(details={"a": value}), done(errors=[value]), done(status=value)):
        json.dumps(to_json(read_response(document, step=STEP)))


def test_a_response_that_holds_itself_is_a_failure() -> None:
    document = done()
    document["details"] = document

    assert read_response(document, step=STEP).status is ResultStatus.FAILURE


def test_a_long_value_is_quoted_in_part() -> None:
    assert len(errors_of("x" * 10_000)[0]) < 200


def test_a_failure_made_here_needs_only_a_message() -> None:
    result = failure("The step took longer than 30 s.")

    assert result.status is ResultStatus.FAILURE
    assert result.errors == ("The step took longer than 30 s.",)
    assert (result.details, result.notes) == ({}, ())


def test_a_failure_made_here_carries_what_it_is_given() -> None:
    result = failure(
        "m" * 600,
        errors=["exit 1", "tail\0"],
        details={"exit_code": 1},
        error_analysis="why",
        suggested_fixes=["fix"],
    )

    assert result.message == "m" * 600
    assert result.errors == ("exit 1", "tail\ufffd")
    assert result.details == {"exit_code": 1}
    assert (result.error_analysis, result.suggested_fixes) == ("why", ("fix",))


def test_the_canonical_form_leaves_out_what_is_empty() -> None:
    result = Result(status=ResultStatus.SUCCESS, message="Done it.", notes=("a note",))

    assert to_json(result) == {"status": "success", "message": "Done it."}


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
FIELDS = [
    *("message", "details", "errors", "warnings", "error_analysis", "warning_analysis"),
    *("suggested_fixes", "pending_input", "success", "error", "result", "data", "note", "extra"),
]
TEXTS = st.lists(
    st.text(max_size=3)
    | st.fixed_dictionaries({"text": st.text(max_size=3)}, optional={"severity": st.just("low")})
)
NEAR = st.fixed_dictionaries(
    {"status": st.sampled_from([*ResultStatus, "error", "odd"])},
    optional={
        **{name: VALUES | st.text() for name in FIELDS},
        "message": st.text(max_size=4) | st.just("y" * 501),
        "errors": TEXTS,
        "warnings": TEXTS,
        "details": st.dictionaries(st.text(), SCALARS),
        "pending_input": st.fixed_dictionaries(
            {}, optional={"questions": TEXTS, "questions_presented": st.booleans()}
        ),
    },
)


@given(VALUES | NEAR | st.dictionaries(st.sampled_from(["status", *FIELDS]), VALUES))
def test_whatever_comes_in_a_result_comes_out_that_reads_back_the_same(document: object) -> None:
    result = read_response(document, step=STEP)

    written = json.loads(json.dumps(to_json(result), allow_nan=False).encode("utf-8"))
    again = read_response(written, step=STEP)

    # A message that is too long to be valid is kept, and noted again.
    assert replace(again, notes=()) == replace(result, notes=(), severities={})


@given(VALUES | NEAR)
def test_what_is_valid_is_what_the_engine_acts_on(document: object) -> None:
    checked = check_response(document)

    assert checked.valid is (checked.result is not None)
    if checked.valid:
        assert checked.result == read_response(document, step=STEP)


@given(NEAR)
def test_a_result_is_whole(document: object) -> None:
    result = read_response(document, step=STEP)

    assert result.message.strip()
    assert len(result.message) <= LONGEST_KEPT
    assert result.errors or result.status is not ResultStatus.FAILURE
    assert result.warnings or result.status is not ResultStatus.WARNING
    assert not result.errors or result.status in (ResultStatus.FAILURE, ResultStatus.PENDING_INPUT)
