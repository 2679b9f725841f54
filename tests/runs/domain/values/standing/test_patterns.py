"""A pattern covers what its author could see in it, and in doubt nothing."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runs.domain.values.standing.calls import Subject, SubjectKind
from runs.domain.values.standing.patterns import covers, has_operators, problem_with, suggestions

OPERATORS = (";", "&", "|", "`", "$(", ">", "<", "\n", "\r", "\0", "&&", "||", ">>", "<(")

words = st.text(st.sampled_from("abcdef-./=\"' $"), min_size=1, max_size=12)
commands = st.lists(words, min_size=1, max_size=5).map(" ".join)
segments = st.text(st.sampled_from("abc._-*"), min_size=1, max_size=6)
paths = st.lists(segments, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))


def command(text: str) -> Subject:
    return Subject(kind=SubjectKind.COMMAND, text=text)


def path(text: str) -> Subject:
    return Subject(kind=SubjectKind.PATH, text=text)


@given(st.text(), st.sampled_from(SubjectKind))
def test_every_call_is_covered_by_itself(text: str, kind: SubjectKind) -> None:
    assert covers(text, Subject(kind=kind, text=text))


@given(commands, commands, st.sampled_from(OPERATORS), commands)
def test_no_prefix_covers_a_command_with_an_operator(
    prefix: str, before: str, operator: str, after: str
) -> None:
    text = f"{prefix} {before}{operator}{after}"

    assert not covers(f"{prefix} *", command(text)) or text == f"{prefix} *"


@given(commands, st.text())
def test_a_prefix_covers_whole_words_only(prefix: str, rest: str) -> None:
    text = f"{prefix}{rest}"
    is_covered = covers(f"{prefix} *", command(text))

    assert is_covered == ((not rest or rest.startswith(" ")) and not has_operators(text)) or (
        not prefix.strip() or text == f"{prefix} *"
    )


@given(commands, commands)
def test_without_its_star_a_pattern_is_one_command(pattern: str, text: str) -> None:
    if not pattern.endswith(" *"):
        assert covers(pattern, command(text)) == (pattern == text)


@given(paths, paths)
def test_no_pattern_covers_a_way_up(pattern: str, below: str) -> None:
    text = f"{below}/../etc/passwd"

    assert not covers(pattern, path(text)) or pattern == text
    assert not covers("/**", path(text))


@given(paths)
def test_a_star_stays_within_its_folder(folder: str) -> None:
    assume(".." not in folder.split("/"))  # no pattern covers a way up

    assert covers(f"{folder}/*", path(f"{folder}/file.py"))
    assert covers(f"{folder}/**", path(f"{folder}/deep/file.py"))
    if "*" not in folder:
        assert not covers(f"{folder}/*", path(f"{folder}/deep/file.py"))
        assert not covers(f"{folder}/**", path(f"{folder}2/file.py"))


@given(st.text(), st.text())
def test_an_unknown_call_is_covered_by_nothing_else(pattern: str, text: str) -> None:
    assert covers(pattern, Subject(kind=SubjectKind.CALL, text=text)) == (pattern == text)


@given(st.one_of(commands.map(command), paths.map(path), st.text().map(command)))
def test_what_is_suggested_covers_the_call(subject: Subject) -> None:
    offered = suggestions(subject)

    assert offered[0] == subject.text
    assert all(covers(pattern, subject) for pattern in offered)


def test_a_command_suggests_its_first_words() -> None:
    assert suggestions(command("npm test -- --watch")) == [
        "npm test -- --watch",
        "npm test *",
        "npm *",
    ]
    assert suggestions(command("ls | sh")) == ["ls | sh"]


@pytest.mark.parametrize("pattern", ["", "  ", " *", "* *", "/**", "*", "ls; rm *", "x" * 3000])
def test_what_would_cover_everything_or_nothing_is_no_pattern(pattern: str) -> None:
    assert problem_with(pattern)


@pytest.mark.parametrize("pattern", ["npm test", "npm test *", "ls | wc -l", "/w/**", "rm *.pyc"])
def test_what_somebody_can_mean_is_a_pattern(pattern: str) -> None:
    assert not problem_with(pattern)
