"""The words of a command: what fills a placeholder stays a value, neither option nor script."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runs.domain.workflow.placeholders import PLACEHOLDER, fill_text

Words = Sequence[str]

IN_A_SCRIPT = (
    "{{{name}}} would become part of a script; read the value there from FABER_TARGET, "
    "FABER_WORK_ID, FABER_PROMPT or FABER_INPUT_NAME, or write {{{{{name}}}}} for braces of its own"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interpreter:
    """A program that takes a script as an argument."""

    program: str
    announced_by: str  # the option before a script, or with it
    valued: str = ""  # options whose value is a word of its own
    is_shell: bool = False  # takes options in between, as in `sh -c -e SCRIPT`, and one script
    runs_files: bool = True  # what stands behind a file is the file's own


_SHELL = _Interpreter(
    program=r"(?:ba|da|z|a|k|mk|pdk|c|tc|fi|rba)?sh",
    announced_by=r"[-+][A-Za-z]*c[A-Za-z]*|--command(?:=.*)?",
    valued=r"[-+][A-Za-z]*[oO]|--rcfile|--init-file",
    is_shell=True,
)
_INTERPRETERS = (
    _SHELL,
    _Interpreter(
        program=r"su|runuser|sg|script|flock",
        announced_by=r"-[a-z]*c|--(?:session-)?command(?:=.*)?",
        runs_files=False,
    ),
    _Interpreter(program=r"(?:python|pypy)[0-9.]*", announced_by=r"-[A-Za-z]*c.*", valued=r"-[XW]"),
    _Interpreter(
        program=r"node|nodejs|bun|deno",
        announced_by=r"-[pe]{1,2}|--(?:eval|print)(?:=.*)?|eval",
        valued=r"-[rC]|--require|--import|--conditions",
    ),
    _Interpreter(program=r"perl[0-9.]*", announced_by=r"-[A-Za-z0-9]*[eE].*", valued=r"-I"),
    _Interpreter(
        program=r"ruby[0-9.]*|lua[0-9.]*|osascript|Rscript", announced_by=r"-[A-Za-z]*e.*"
    ),
    _Interpreter(program=r"php[0-9.]*", announced_by=r"-[rBRE].*", valued=r"-[dc]"),
    _Interpreter(
        program=r"pwsh|powershell", announced_by=r"(?i:--?(?:c|command|e|encodedcommand))"
    ),
    _Interpreter(
        program=r"env", announced_by=r"-[a-z0]*S.*|--split-string(?:=.*)?", valued=r"-[uC]"
    ),
)
_PROGRAM = re.compile(r"(?:.*[/\\])?(?P<name>[^/\\]+?)(?:\.exe)?", re.DOTALL)


def fill_words(words: Words, known: Mapping[str, object]) -> tuple[str, ...]:
    """Each word with what is known filled in; a script is left as its author wrote it."""
    scripts = scripts_in(words)
    return tuple(fill_text(word, {} if at in scripts else known) for at, word in enumerate(words))


def refused(words: Words, known: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each name whose value cannot fill these words, and why."""
    scripts = scripts_in(words)
    for at, word in enumerate(words):
        names = [name for name in names_in(word, is_script=at in scripts) if name in known]
        if names and at in scripts:
            yield names[0], IN_A_SCRIPT.format(name=names[0])
        elif names and not word.startswith("-") and fill_text(word, known).startswith("-"):
            value = str(known[names[0]])
            yield names[0], f"{value[:60]!r} begins with -, so a command would take it as an option"


def names_in(word: str, *, is_script: bool) -> list[str]:
    """The placeholders of a word; in a script `${NAME}` is the script's own."""
    return [
        match["name"]
        for match in PLACEHOLDER.finditer(word)
        if match["name"] and not (is_script and word[: match.start()].endswith("$"))
    ]


def scripts_in(words: Words) -> frozenset[int]:
    """Which words are scripts, whatever stands before their interpreter: env, sudo, xargs."""
    found: set[int] = set()
    for begin, word in enumerate(words):
        for interpreter in _named(word, is_program=begin == 0):
            found.update(_scripts_behind(interpreter, words, begin + 1))
    return frozenset(found & set(range(len(words))))


def _named(word: str, *, is_program: bool) -> Iterator[_Interpreter]:
    if is_program and PLACEHOLDER.search(word):
        yield _SHELL  # which it will be, nobody knows
    named = _PROGRAM.fullmatch(word)
    for interpreter in _INTERPRETERS if named else ():
        if named and re.fullmatch(interpreter.program, named["name"]):
            yield interpreter


def _scripts_behind(interpreter: _Interpreter, words: Words, at: int) -> Iterator[int]:
    is_announced = False
    while at < len(words):
        word = words[at]
        announces = bool(re.fullmatch(interpreter.announced_by, word, re.DOTALL))
        if announces:
            yield at  # it may hold the script itself
        elif is_announced and not (interpreter.is_shell and _is_option(word)):
            yield at
            if interpreter.is_shell:
                return
            is_announced = False
        elif interpreter.runs_files and not _is_option(word) and "=" not in word:
            return
        is_announced = is_announced or announces
        at += 2 if re.fullmatch(interpreter.valued, word) else 1


def _is_option(word: str) -> bool:
    return word.startswith(("-", "+"))
