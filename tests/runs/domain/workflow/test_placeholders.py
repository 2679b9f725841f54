"""Placeholders are filled once, keep their types, and are never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.workflow.placeholders import fill_arguments, fill_text

KNOWN = {
    "work_id": "123",
    "target": "csv-export",
    "issue": {"title": "Export"},
    "retries": 2,
    "dry": True,
    "branch": None,
    "target-env": "staging",
}


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("{work_id}", "123"),
        ("{issue}", {"title": "Export"}),
        ("{retries}", 2),
        ("{dry}", True),
        ("{branch}", None),
        ("{target-env}", "staging"),
        ("feat/{work_id}-{target}", "feat/123-csv-export"),
        (
            "retry {retries} times, dry: {dry}, {issue}",
            'retry 2 times, dry: true, {"title": "Export"}',
        ),
        (["{work_id}", {"deep": ["{retries}", "no"]}], ["123", {"deep": [2, "no"]}]),
        (7, 7),
        (False, False),
        (None, None),
        ("{{work_id}}", "{work_id}"),
        ("{{work_id}} is {work_id}", "{work_id} is 123"),
        ("{{unheard_of}}", "{unheard_of}"),
        ('{"a": {"b": {}}}', '{"a": {"b": {}}}'),
        ("${{ secrets.KEY }}", "${{ secrets.KEY }}"),
        ("src/{a,b}.py {0} { work_id } {", "src/{a,b}.py {0} { work_id } {"),
    ],
)
def test_what_is_written_becomes_what_is_known(written: object, filled: object) -> None:
    assert fill_arguments({"value": written}, KNOWN) == ({"value": filled}, ())


def test_each_unknown_placeholder_is_one_error_with_its_place_and_what_is_known() -> None:
    arguments = {"env": "{target_env}", "tag": ["v{app_version}"], "id": "{work_id}"}

    _, errors = fill_arguments(arguments, {"work_id": "123", "target": "x"})

    assert errors == (
        "The argument env needs {target_env}, which is unknown. Available: target, work_id.",
        "The argument tag[0] needs {app_version}, which is unknown. Available: target, work_id.",
    )


def test_a_name_missing_in_two_arguments_is_one_error() -> None:
    _, errors = fill_arguments({"a": "{x} {x}", "b": {"c": "{x}"}}, {})

    assert errors == ("The argument a needs {x}, which is unknown. Available: nothing.",)


def test_a_null_that_is_known_is_no_error() -> None:
    assert fill_arguments({"a": "on {branch}"}, KNOWN) == ({"a": "on null"}, ())


def test_what_was_filled_in_is_not_filled_again() -> None:
    known = {"title": "{secret}", "secret": "s3cr3t"}

    assert fill_text("Do {title}.", known) == "Do {secret}."


def test_the_arguments_handed_in_stay_as_they_were() -> None:
    arguments = {"a": {"b": ["{work_id}"]}}

    fill_arguments(arguments, KNOWN)

    assert arguments == {"a": {"b": ["{work_id}"]}}


def test_unknown_placeholders_stay_in_texts_as_written() -> None:
    text = "specs/{work_id}-{unheard_of}.md"

    assert fill_text(text, KNOWN) == "specs/123-{unheard_of}.md"


@given(st.text())
def test_a_text_without_braces_is_left_alone(text: str) -> None:
    bare = text.replace("{", "").replace("}", "")

    assert fill_text(bare, {"a": 1}) == bare


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_a_whole_placeholder_keeps_the_value_as_it_is(value: object) -> None:
    assert fill_arguments({"a": "{v}"}, {"v": value}) == ({"a": value}, ())


@given(st.dictionaries(st.text(), JSON))
def test_filling_arguments_never_fails_and_keeps_every_key(arguments: dict[str, object]) -> None:
    filled, _ = fill_arguments(arguments, KNOWN)

    assert filled.keys() == arguments.keys()
