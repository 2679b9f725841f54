"""What fills a placeholder is a value: it becomes neither an option nor a part of a script."""

import shlex

import pytest

from runs.domain.values.errors import Invalid
from runs.domain.workflow.commands import fill_words, refused, scripts_in
from runs.domain.workflow.parse import read_workflow
from tests import factories as f

SCRIPTS = [
    "sh -c SCRIPT",
    "/bin/sh -c SCRIPT",
    "bash -ec SCRIPT",
    "bash -euo pipefail -c SCRIPT",
    "bash -ceuo pipefail SCRIPT",
    "bash -c -eo pipefail SCRIPT",
    "dash -c -e SCRIPT name value",
    "zsh -lc SCRIPT",
    "ash -xec SCRIPT",
    "ksh +x -c SCRIPT",
    "env sh -c SCRIPT",
    "/usr/bin/env -i A=1 bash -c SCRIPT",
    "sudo -u joe sh -c SCRIPT",
    "nice -n 5 timeout 10 sh -c SCRIPT",
    "xargs -0 sh -c SCRIPT",
    "busybox sh -c SCRIPT",
    "docker run image sh -c SCRIPT",
    "su joe -c SCRIPT",
    "python -c SCRIPT",
    "python3.11 -X utf8 -Ic SCRIPT",
    "node -e SCRIPT",
    "node --eval SCRIPT",
    "node -pe SCRIPT",
    "perl -ne SCRIPT",
    "perl -lane SCRIPT file",
    "ruby -e SCRIPT",
    "php -r SCRIPT",
    "env -S SCRIPT",
    "{shell} -c SCRIPT",
    "ssh host SCRIPT",
    "ssh -p 22 -o BatchMode=yes joe@host SCRIPT",
    "ssh host -t SCRIPT",
    "ssh host cd /srv && SCRIPT",
    "ssh -o SCRIPTCommand host",
    "sudo ssh host SCRIPT",
    "watch -n 1 SCRIPT",
    "watch SCRIPT",
    "awk SCRIPT file",
    "gawk -F , -v a=1 SCRIPT file",
    "gawk -e SCRIPT file",
    "sed SCRIPT file",
    "sed -i -e SCRIPT file",
    "sed -n -E --expression SCRIPT file",
    "find . -exec sh -c SCRIPT ;",
    "git -c SCRIPT status",
    "git -C folder -c SCRIPT status",
    "make --eval SCRIPT all",
    "make -C folder --eval SCRIPT",
    "rsync -ae SCRIPT one two",
    "psql -d base -c SCRIPT",
    "mysql -e SCRIPT",
    "sqlite3 -batch file.db SCRIPT",
]
NO_SCRIPTS = [
    "sh script.sh WORD",
    "sh script.sh -c WORD",
    "sh -c true sh WORD",
    "python tool.py -c WORD",
    "python -X utf8 tool.py -c WORD",
    "python -m tool WORD",
    "node tool.js -e WORD",
    "git log -c WORD",
    "make WORD",
    "echo -e WORD",
    "{python} -X utf8 {demo}/steps.py WORD",
    "ssh WORD uptime",
    "ssh -i WORD host uptime",
    "ssh -o StrictHostKeyChecking=no -p WORD host uptime",
    "watch -x ls WORD",
    "npm run watch WORD",
    "apt-get install sed WORD",
    "cargo watch WORD",
    "awk {print} WORD",
    "awk -v name=WORD {print} file",
    "awk -f program.awk WORD",
    "sed s/a/b/ WORD",
    "sed -i -e s/a/b/ WORD",
    "sed --file script.sed WORD",
    "git switch -c WORD",
    "git commit -c WORD",
    "git -c user.name=joe commit -m WORD",
    "git -C WORD status",
    "make -C WORD all",
    "rsync -a WORD two",
    "rsync -ae ssh one WORD",
    "psql -f WORD",
    "sqlite3 WORD .dump",
]


def argv(line: str, word: str) -> list[str]:
    return [part.replace("SCRIPT", word).replace("WORD", word) for part in shlex.split(line)]


@pytest.mark.parametrize("line", SCRIPTS)
def test_a_placeholder_inside_a_script_is_refused_with_its_place(line: str) -> None:
    words = argv(line, "echo {target}")
    document = f.workflow({"build": [{"id": "one", "run": words}]})

    with pytest.raises(Invalid) as error:
        read_workflow(document)

    (problem,) = error.value.problems
    place = next(at for at, word in enumerate(words) if "echo {target}" in word)
    assert problem.place == f"phases.build.steps[0].run[{place}]"
    assert problem.message.startswith("{target} would become part of a script; read the value")
    assert problem.message.endswith("or write {{target}} for braces of its own")


@pytest.mark.parametrize("line", NO_SCRIPTS)
def test_a_word_of_its_own_may_hold_a_placeholder(line: str) -> None:
    words = argv(line, "{target}")
    document = f.workflow({"build": [{"id": "one", "run": words}]})

    assert read_workflow(document).workflow.id == "small"
    assert fill_words(words, {"target": "x"}) == tuple(argv(line, "x"))


@pytest.mark.parametrize("setting", ["user.name={target}", "http.extraheader={target}"])
def test_a_setting_of_git_that_names_no_command_is_a_value(setting: str) -> None:
    assert scripts_in(["git", "-c", setting, "commit"]) == frozenset()


def test_a_value_that_make_would_expand_is_warned_of() -> None:
    document = f.workflow({"build": [{"id": "one", "run": ["make", "deploy", "VERSION={target}"]}]})

    (problem,) = read_workflow(document).warnings

    assert problem.place == "phases.build.steps[0].run[2]"
    assert problem.message.startswith("make would expand the value of {target}")


def test_a_script_written_as_one_line_is_refused_too() -> None:
    document = f.workflow({"build": [{"id": "one", "run": "sh -c 'git fetch {target}'"}]})

    with pytest.raises(Invalid, match=r"run\[2\]: \{target\} would become part"):
        read_workflow(document)


def test_a_script_of_evidence_is_refused_too() -> None:
    evidence = [{"command": ["bash", "-c", "test -e {target}"]}]
    document = f.workflow({"build": [{"id": "one", "run": ["true"], "evidence": evidence}]})

    with pytest.raises(Invalid, match=r"steps\[0\]\.evidence\[0\]\.command\[2\]: \{target\}"):
        read_workflow(document)


@pytest.mark.parametrize(
    "script",
    [
        'git fetch origin -- "$FABER_TARGET"',
        'echo "${FABER_TARGET}" "${HOME}"',
        "awk '{print $1}' file",
        "awk '{{print}}' file",
        "{ echo a; }",
        """echo '{"a": 1}'""",
    ],
)
def test_a_script_keeps_its_own_braces(script: str) -> None:
    document = f.workflow({"build": [{"id": "one", "run": ["sh", "-c", script]}]})

    assert read_workflow(document).workflow.id == "small"
    known = {"print": "rm", "HOME": "$(rm)", "FABER_TARGET": "$(rm)"}
    assert "rm" not in fill_words(["sh", "-c", script], known)[2]
    assert list(refused(["sh", "-c", script], known)) == []


def test_what_is_known_fills_no_script_whatever_it_is_called() -> None:
    words = ["sh", "-c", "echo {target}", "sh", "{target}"]

    assert fill_words(words, {"target": "$(rm)"}) == ("sh", "-c", "echo {target}", "sh", "$(rm)")
    assert [name for name, _ in refused(words, {"target": "$(rm)"})] == ["target"]


@pytest.mark.parametrize("value", ["-x", "--upload-pack=touch x", "-"])
def test_a_value_that_would_be_an_option_is_refused(value: str) -> None:
    ((name, why),) = refused(["git", "fetch", "origin", "{target}"], {"target": value})

    assert name == "target"
    assert why == f"{value!r} starts with -, so a command would read it as an option"


@pytest.mark.parametrize(
    "word", ["--target={target}", "-{target}", "x{target}", "refs/{target}", "{{target}}"]
)
def test_a_value_inside_a_word_is_no_option(word: str) -> None:
    assert list(refused(["git", word], {"target": "-x"})) == []


def test_an_empty_value_uncovers_no_option() -> None:
    known = {"first": "", "target": "--exec=x"}

    assert [name for name, _ in refused(["git", "{first}{target}"], known)] == ["first"]


def test_where_a_script_would_stand_and_does_not_is_no_place() -> None:
    assert scripts_in(["sh", "-c"]) == {1}
    assert scripts_in([]) == frozenset()
