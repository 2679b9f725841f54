"""The page about the commands of `faber`, from their own parsers."""

import argparse
from collections.abc import Iterator

from django.core.management import get_commands, load_command_class

from faber_site.overview import grouped, spelt_for_people
from faber_site.references.markdown import code, table
from runs.terminal.console import DJANGO_OPTIONS

_HEAD = """\
# Commands

`faber COMMAND --help` shows the same in a terminal. Every command accepts `--json` and then prints
one JSON document. A run is named by its id, by the first characters of its uuid (at least eight)
or by `latest`.

| exit code | means |
|---|---|
| 0 | done |
| 1 | internal error |
| 2 | wrong usage or settings |
| 3 | waiting for a decision |
| 4 | failed |
| 5 | cancelled |
| 6 | not found |
| 7 | refused |

"""
_UNNAMED = {"--json", "--help", *DJANGO_OPTIONS}


def page() -> str:
    return _HEAD + "\n".join(
        f"## {title}\n\n" + "\n".join(map(_command, names)) for title, names in grouped().items()
    )


def _command(name: str) -> str:
    known = load_command_class(str(get_commands()[name]), name)
    parser = known.create_parser("faber", name)
    return "\n".join(_parts(f"faber {spelt_for_people(name)}", parser, str(known.help), level=3))


def _parts(name: str, parser: argparse.ArgumentParser, text: str, *, level: int) -> Iterator[str]:
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    own = [each for each in parser._actions if each not in nested and _is_shown(each)]
    yield f"{'#' * level} {name}\n\n{' '.join(text.split())}\n"
    if own:
        yield table(("argument", "meaning"), ((_spelt(each), each.help or "") for each in own))
    for action in nested:
        sentences = {each.dest: each.help or "" for each in action._choices_actions}
        for word, below in action.choices.items():
            said = sentences.get(word, "")
            sentence = f"{said[:1].upper()}{said[1:].rstrip('.')}." if said else ""
            yield from _parts(f"{name} {word}", below, sentence, level=level + 1)


def _is_shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS and not _UNNAMED & {*action.option_strings}


def _spelt(action: argparse.Action) -> str:
    if not action.option_strings:
        return code(_value(action))
    value = f" {_value(action)}" if action.nargs != 0 else ""
    return ", ".join(code(f"{option}{value}") for option in action.option_strings)


def _value(action: argparse.Action) -> str:
    shown = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    name = shown if isinstance(shown, str) else " ".join(shown)
    word = name or action.dest.upper()
    more = {"*": f"[{word} …]", "+": f"{word} …", "?": f"[{word}]"}
    return more.get(str(action.nargs), word)
