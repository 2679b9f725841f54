"""A tool's input as people see it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.tool_calls import tool_input
from runs.domain.values.secrets.redaction import REDACTED

TOKEN = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9jK2"
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"command": f"curl -u x:{TOKEN}"}, {"command": f"curl -u x:{REDACTED}"}),
        ({"password": "hunter2"}, {"password": REDACTED}),
        ({"env": [{"API_KEY": "abc"}]}, {"env": [{"API_KEY": REDACTED}]}),
        ({"password": "", "secret": None}, {"password": "", "secret": None}),
        ({"max_tokens": "512", "path": "a/b"}, {"max_tokens": "512", "path": "a/b"}),
        ([1, True, 2.5], [1, True, 2.5]),
    ],
)
def test_secrets_are_taken_out_wherever_they_stand(value: object, shown: object) -> None:
    assert tool_input.without_secrets(value) == shown


def test_a_script_is_shown_line_by_line() -> None:
    assert tool_input.readable({"command": "set -e\nmake"}) == "command:\n  set -e\n  make\n"


def test_a_long_command_needs_no_scrolling() -> None:
    shown = tool_input.readable({"command": "rm -rf " + "build/one " * 40})

    assert max(map(len, shown.splitlines())) < 80
    assert "\n  ↳ " in shown


def test_no_text_can_pass_for_another_entry() -> None:
    shown = tool_input.readable({"command": "rm -rf /\ndescription: list the files", "timeout": 5})

    assert shown == "command:\n  rm -rf /\n  description: list the files\ntimeout: 5\n"


def test_lists_and_objects_are_indented() -> None:
    value = {"edits": [{"old": "a", "new": ""}, 1], "none": [], "nothing": None}

    assert tool_input.readable(value) == (
        "edits:\n  -\n    old: a\n    new: \n  - 1\nnone: []\nnothing: null\n"
    )


def test_what_nobody_could_see_is_spelt_out() -> None:
    assert tool_input.readable({"path": "a\u202eb\x1b[8m"}) == "path: a\\u202eb\\u001b[8m\n"


@given(PLAIN)
def test_whatever_is_given_can_be_shown(value: object) -> None:
    shown = tool_input.readable(tool_input.without_secrets(value))

    assert all(char in "\n\t" or char.isprintable() for char in shown)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("Bash", "Bash.txt"),
        ("mcp__github__merge", "mcp__github__merge.txt"),
        ("../../etc/passwd", "etc-passwd.txt"),
        ("…", "tool.txt"),
    ],
)
def test_its_file_is_named_by_the_tool(tool: str, name: str) -> None:
    assert tool_input.file_name(tool) == name
