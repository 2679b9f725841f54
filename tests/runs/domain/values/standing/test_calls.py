"""What a call is recognised by."""

import pytest

from runs.domain.values.standing.calls import SubjectKind, subject_of


@pytest.mark.parametrize(
    ("tool", "given", "kind", "text"),
    [
        ("Bash", {"command": " ls -l \n", "description": "x"}, SubjectKind.COMMAND, "ls -l"),
        ("Write", {"file_path": "/a/b", "content": "x"}, SubjectKind.PATH, "/a/b"),
        ("mcp__x__y", {"b": 1, "a": [2]}, SubjectKind.CALL, '{"a":[2],"b":1}'),
        ("mcp__x__y", {"command": "ls"}, SubjectKind.CALL, '{"command":"ls"}'),
        ("Bash", {}, SubjectKind.CALL, "{}"),
    ],
)
def test_a_call_has_a_subject(
    tool: str, given: dict[str, object], kind: SubjectKind, text: str
) -> None:
    subject = subject_of(tool, given)

    assert (subject.kind, subject.text) == (kind, text)


def test_a_command_that_asks_for_more_than_to_be_run_is_not_just_its_command() -> None:
    asked = {"command": "ls", "dangerouslyDisableSandbox": True}

    assert subject_of("Bash", asked).kind is SubjectKind.CALL
