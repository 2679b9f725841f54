"""The response is found in whatever a step printed."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.responses.results import ResultStatus
from runs.executors.printed_response import agent_answer, last_envelope, last_json_object

SIZE = 10 * 1024 * 1024

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
objects = st.dictionaries(st.text(), values)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("no object here", None),
        ("{", None),
        ("}{", None),
        ("[1, 2]", None),
        ('"{"', None),
        ("{'single': 'quotes'}", None),
        ('{"a": 1}', {"a": 1}),
        ('first {"a": 1} then {"b": 2} done', {"b": 2}),
        ('{"a": {"b": {}}}', {"a": {"b": {}}}),
        ('{\n  "a": [\n    {"b": 1}\n  ]\n}\n', {"a": [{"b": 1}]}),
        ('{"a": "}{ \\" }"}', {"a": '}{ " }'}),
        ('```json\n{"a": 1}\n```\nThat is all.', {"a": 1}),
        ('[INFO] {"a": 1}', {"a": 1}),
        ('[{"a": 1}, {"a": 2}]', {"a": 2}),
        ('use {name} or {x: {"a": 1}', {"a": 1}),
        ('{"a": 1} and {"b": 2', {"a": 1}),
        ('{"a": 1} and {"b": 2,}', {"a": 1}),
        ('{"a": 1} and {"b": 2 "c"}', {"a": 1}),
        ('{"a": 1}}}}', {"a": 1}),
        ('{{{"a": 1}', {"a": 1}),
        ('{"a": 1}\n{"cut": {"inner": 2}', {"a": 1}),
        ('{"half a line": \n{"a": 1}\n', {"a": 1}),
        ('{"half a line": "and a half\n{"a": 1}\n', {"a": 1}),
        ('{"a":\n{"b": 1}\n}', {"a": {"b": 1}}),
    ],
)
def test_the_last_whole_object_is_found(text: str, found: object) -> None:
    assert last_json_object(text) == found


@given(st.text(alphabet='{}[]",:\\ \n\tab1-.eE\u20ac') | st.text())
def test_no_text_is_too_strange(text: str) -> None:
    found = last_json_object(text)

    assert found is None or isinstance(found, dict)


@given(
    before=st.text().map(lambda text: text.replace('"', "'")),
    value=objects,
    after=st.text().map(lambda text: text.replace("{", "(")),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
)
def test_an_object_in_prose_comes_back_as_it_was(
    before: str, value: dict[str, object], after: str, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert last_json_object(before + text + after) == value


@pytest.mark.parametrize(
    "text",
    [
        "{" * SIZE,
        '{"' * (SIZE // 2),
        '{"a":' * (SIZE // 5),
        '{"a":\n' * (SIZE // 6),
        '{"a":[' * (SIZE // 6),
        '{"a":' * 500_000 + "1" + "}" * 500_000,
        '{"a":' + "[" * SIZE,
        '{"' + '\\"' * (SIZE // 2),
        "{ " * (SIZE // 2),
    ],
    ids=lambda text: text[:6],
)
def test_ten_megabytes_of_braces_take_seconds_and_not_days(text: str) -> None:
    begun = time.process_time()

    assert last_json_object(text + '\n\n{"status": "success"}') == {"status": "success"}

    assert time.process_time() - begun < 20


def test_numbers_and_depths_beyond_reason_are_no_answer() -> None:
    assert last_json_object('{"n": ' + "9" * 10_000 + "}") is None
    assert last_json_object('{"n": ' + "[" * 5_000 + "]" * 5_000 + "}") is None


def envelope(**fields: object) -> str:
    return json.dumps({"type": "result", "subtype": "success", "is_error": False, **fields})


def test_the_envelope_is_found_whatever_is_printed_around_it() -> None:
    after = json.dumps({"type": "system", "subtype": "hook_response"})
    first, last = envelope(result="one"), envelope(result="two")

    found = last_envelope(f"Hello.\n{first}\n{last}\n{after}\nBye.")

    assert found is not None
    assert found["result"] == "two"
    assert last_envelope(after) is None


def test_an_error_in_the_envelope_is_a_failure_with_its_words() -> None:
    result = agent_answer(envelope(is_error=True, result="Credit balance is too low"), step="a:b")

    assert result.status is ResultStatus.FAILURE
    assert result.message == "The agent reported an error: Credit balance is too low"
    assert result.errors == ("Credit balance is too low",)


def test_an_envelope_of_another_kind_than_success_is_a_failure() -> None:
    result = agent_answer(envelope(subtype="error_max_turns"), step="a:b")

    assert result.status is ResultStatus.FAILURE
    assert "error_max_turns" in result.message


@pytest.mark.parametrize("words", ["I am done.", "", None])
def test_an_envelope_without_an_answer_is_a_failure_that_keeps_the_words(
    words: str | None,
) -> None:
    result = agent_answer(envelope(result=words), step="a:b")

    assert result.status is ResultStatus.FAILURE
    assert "must end with a JSON skill response" in result.message
    assert result.details["words"] == (words or "")


def test_the_answer_is_the_last_object_in_the_envelope() -> None:
    words = 'I saw {"status": "failure"} first.\n{"status": "warning", "warnings": ["slow"]}'

    result = agent_answer(envelope(result=words), step="a:b")

    assert result.status is ResultStatus.WARNING
    assert result.warnings == ("slow",)


def test_an_object_that_is_no_skill_response_is_a_failure() -> None:
    assert agent_answer('{"answer": 42}', step="a:b").status is ResultStatus.FAILURE
