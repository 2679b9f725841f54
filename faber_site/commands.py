"""The commands of `faber`: runs one and turns what went wrong into a sentence."""

import difflib
import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands, load_command_class

from faber_site.configuration import data_directory, data_place, variables
from runs.domain.values.errors import NotAllowed
from runs.isolation import inside
from runs.terminal.layout import clean

OWN_APPS = ("faber_site", "runs", "feedback")

# Commands that may begin a site; others leave nothing behind where there is none.
BEGINS_SITE = ("up", "web", "work", "run", "init", "migrate", "restore")

# What somebody wants to do, and the commands for it; a command in no group stands at the end.
GROUPS = {
    "Serve": ("up", "web", "work"),
    "Start and control runs": ("run", "resume", "cancel", "rerun", "batch"),
    "Decide": ("pending", "show", "answer"),
    "Inspect runs": ("status", "events", "state", "context", "verify", "audit"),
    "Write workflows": ("validate", "validate_response", "render"),
    "Operate a site": (
        *("doctor", "project", "user", "token", "webhook", "rule", "login_link"),
        *("backup", "restore", "prune"),
    ),
    "Connect": ("hook", "mcp", "emit", "poll", "parse_comment", "export", "import", "sync"),
}


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "faber_site.settings")
    words = _spelt_for_django(sys.argv)
    try:
        if words[1:2] and words[1] in BEGINS_SITE:
            data_directory.make(data_place.place())
        django.setup()
        for warning in variables.misspelt(os.environ):
            sys.stderr.write(f"WARNING: {warning}\n")
        if words[1:] in ([], ["help"], ["--help"], ["-h"]):
            sys.stdout.write(_overview())
            return 0
        if mistake := _mistake(words[1]):
            sys.stderr.write(f"{mistake}\n")
            return 2
        if refusal := inside.refusal(words[1:]):
            return _refused(refusal, as_json="--json" in words)
        ManagementUtility(words).execute()
    except ImproperlyConfigured as error:
        sys.stderr.write(f"{clean(error)}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing more can be said to it.
        sys.stderr.close()
    return 0


def _spelt_for_django(argv: list[str]) -> list[str]:
    """Command modules cannot hold a dash: `login-link` lives in `login_link`."""
    command = [word if word.startswith("-") else word.replace("-", "_") for word in argv[1:2]]
    return [argv[0], *command, *argv[2:]]


def _refused(sentence: str, *, as_json: bool) -> int:
    from runs.terminal import console  # noqa: PLC0415  it needs the settings

    if as_json:
        sys.stdout.write(f"{console.as_text(console.error_shape(NotAllowed(sentence)))}\n")
    sys.stderr.write(f"{sentence}\n")
    return console.REFUSED


def _spelt_for_people(command: str) -> str:
    return command.replace("_", "-")


def _overview() -> str:
    """FABER's own commands with a line each; Django's are there too, under `manage.py help`."""
    ours = sorted(name for name, app in get_commands().items() if app in OWN_APPS)
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "More": tuple(name for name in ours if name not in grouped)}
    lines = ["Usage: faber COMMAND … (faber COMMAND --help tells more)"]
    for title, names in groups.items():
        known = [name for name in names if name in ours]
        if known:
            lines += ["", f"{title}:"]
            lines += [f"  {_spelt_for_people(name):20}{_first_line(name)}" for name in known]
    return "\n".join([*lines, ""])


def _first_line(command: str) -> str:
    app = get_commands()[command]
    return str(load_command_class(str(app), command).help).split("\n", 1)[0]


def _mistake(named: str) -> str:
    """A sentence when the first word is no command; Django's own would exit with 1."""
    known = get_commands()
    if named in known or named == "help" or named.startswith("-"):
        return ""
    near = difflib.get_close_matches(named, known, n=1)
    hint = f" Did you mean {_spelt_for_people(near[0])}?" if near else ""
    return f"There is no command {_spelt_for_people(named)!r}.{hint} `faber help` lists them."


if __name__ == "__main__":
    sys.exit(main())
