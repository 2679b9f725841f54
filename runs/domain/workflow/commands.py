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
    harmless: str = r"(?!)"  # what stands in a script's place and is none


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScriptByPlace:
    """A program that takes a script without an option before it."""

    program: str
    valued: str = r"(?!)"  # options whose value is a word of its own
    skipped: int = 0  # words before the script, such as a host
    joined: bool = False  # all that follows is put together, and given to a shell
    elsewhere: str = r"(?!)"  # an option with which no word is a script by its place


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
    _Interpreter(program=r"g?make", announced_by=r"--eval(?:=.*)?|-E.*", runs_files=False),
    _Interpreter(
        program=r"[gmn]?awk", announced_by=r"-e.*|--source(?:=.*)?", valued=r"-[Fv]|--assign"
    ),
    _Interpreter(
        program=r"g?sed", announced_by=r"-[nErsuz]*e.*|--expression(?:=.*)?", runs_files=False
    ),
    _Interpreter(program=r"rsync", announced_by=r"-[A-Za-z]*e|--rsh(?:=.*)?", runs_files=False),
    _Interpreter(program=r"psql", announced_by=r"-c.*|--command(?:=.*)?", runs_files=False),
    _Interpreter(
        program=r"mysql|mariadb", announced_by=r"-e.*|--execute(?:=.*)?", runs_files=False
    ),
    # Settings that name a command are commands: alias.x=!…, core.sshCommand=…, ProxyCommand=….
    _Interpreter(
        program=r"git",
        announced_by=r"-c",
        valued=r"-C|--git-dir|--work-tree|--namespace",
        harmless=r"-c|(?:user|author|committer|init|http)\..*",
    ),
    _Interpreter(
        program=r"ssh|scp|sftp",
        announced_by=r"-o.*",
        valued=r"-[A-Za-z0-9]*[BbcDEeFIiJLlmOpQRSWw]",
        harmless=r"(?is)(?!.*command).*",
    ),
)
_BY_PLACE = (
    _ScriptByPlace(
        program=r"ssh",
        valued=r"-[A-Za-z0-9]*[BbcDEeFIiJLlmOopQRSWw]",
        skipped=1,
        joined=True,
    ),
    _ScriptByPlace(
        program=r"watch",
        valued=r"-[nq]|--interval|--equexit",
        joined=True,
        elsewhere=r"-[a-z]*x[a-z]*|--exec",
    ),
    _ScriptByPlace(
        program=r"[gmn]?awk",
        valued=r"-[Fv]|--assign|--field-separator",
        elsewhere=r"-[ef].*|--(?:file|source)(?:=.*)?",
    ),
    _ScriptByPlace(
        program=r"g?sed",
        valued=r"-l",
        elsewhere=r"-[nErsuz]*[ef].*|--(?:expression|file)(?:=.*)?",
    ),
    _ScriptByPlace(program=r"sqlite3", valued=r"-(?:cmd|init|separator)", skipped=1, joined=True),
)
# Behind one of these a word may be a program; elsewhere `watch` or `sed` may mean anything.
_STARTERS = re.compile(
    r"env|sudo|doas|nice|ionice|nohup|setsid|stdbuf|time|timeout|xargs|busybox|exec|command"
)
# What awk writes in braces of its own.
_OF_AWK = frozenset({"print", "next", "nextfile", "exit", "getline"})
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
            yield names[0], f"{value[:60]!r} starts with -, so a command would read it as an option"


def names_in(word: str, *, is_script: bool) -> list[str]:
    """The placeholders of a word; in a script `${NAME}` is the script's own."""
    return [
        match["name"]
        for match in PLACEHOLDER.finditer(word)
        if match["name"] and not (is_script and _is_its_own(word, match))
    ]


def _is_its_own(word: str, found: re.Match[str]) -> bool:
    return word[: found.start()].endswith("$") or found["name"] in _OF_AWK


def scripts_in(words: Words) -> frozenset[int]:
    """Which words are scripts, whatever stands before their interpreter: env, sudo, xargs."""
    found: set[int] = set()
    for begin, word in enumerate(words):
        for interpreter in _named(word, is_program=begin == 0):
            behind = _scripts_behind(interpreter, words, begin + 1)
            found.update(at for at in behind if not re.fullmatch(interpreter.harmless, words[at]))
        if begin == 0 or _STARTERS.fullmatch(_name_of(words[0])):
            found.update(_scripts_by_place(words, begin))
    return frozenset(found & set(range(len(words))))


def assigned_by_make(words: Words) -> Iterator[int]:
    """Words with a value that make itself would read: `$(shell …)` in it is executed."""
    if words and re.fullmatch("g?make", _name_of(words[0])):
        yield from (at for at, word in enumerate(words) if re.match(r"[A-Za-z_]\w*[:+?]?=", word))


def _named(word: str, *, is_program: bool) -> Iterator[_Interpreter]:
    if is_program and PLACEHOLDER.search(word):
        yield _SHELL  # which it will be, nobody knows
    for interpreter in _INTERPRETERS:
        if re.fullmatch(interpreter.program, _name_of(word)):
            yield interpreter


def _name_of(word: str) -> str:
    named = _PROGRAM.fullmatch(word)
    return named["name"] if named else ""


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


def _scripts_by_place(words: Words, begin: int) -> Iterator[int]:
    for kind in _BY_PLACE:
        if re.fullmatch(kind.program, _name_of(words[begin])):
            yield from _first_script(kind, words, begin + 1)


def _first_script(kind: _ScriptByPlace, words: Words, at: int) -> Iterator[int]:
    skipped = 0
    while at < len(words):
        word = words[at]
        if re.fullmatch(kind.elsewhere, word, re.DOTALL):
            return
        if not _is_option(word) and skipped == kind.skipped:
            yield from range(at, len(words) if kind.joined else at + 1)
            return
        skipped += not _is_option(word)
        at += 2 if re.fullmatch(kind.valued, word) else 1


def _is_option(word: str) -> bool:
    return word.startswith(("-", "+"))
