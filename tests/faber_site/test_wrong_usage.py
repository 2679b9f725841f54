"""A program that calls a command wrongly reads why, as it reads every other error."""

from pathlib import Path

from tests.commands import shell


def test_wrong_usage_is_a_document_for_a_program_as_every_other_error_is(tmp_path: Path) -> None:
    for words, said in (
        (["answer"], "the following arguments are required: REQUEST, RESPONSE"),
        (["token", "create"], "the following arguments are required: NAME, --scope"),
        (["status", "--bogus"], "unrecognized arguments: --bogus"),
        (["stauts"], "There is no command 'stauts'. Did you mean status? `faber help` lists them."),
    ):
        for_people = shell(tmp_path, *words)
        for_programs = shell(tmp_path, *words, "--json")

        assert (for_people.code, for_people.out) == (2, "")
        assert for_programs.code == 2
        assert for_programs.document["error"]["message"] == said
        assert for_programs.err.endswith(f"{said}\n")


def test_help_is_help_for_a_program_too(tmp_path: Path) -> None:
    answer = shell(tmp_path, "status", "--json", "--help")

    assert answer.code == 0
    assert answer.out.count("usage:") == 1
