"""The commands of `faber`: runs one and turns what went wrong into a sentence."""

import logging
import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands

from faber_site import overview
from faber_site.configuration import data_directory, data_place, variables
from faber_site.hook import local_site
from faber_site.runtime import memory
from runs.domain.values.errors import FaberError, Invalid, NotAllowed, Problem
from runs.domain.values.nearest import nearest
from runs.isolation import inherited, inside
from runs.terminal.layout import clean

logger = logging.getLogger(__name__)

# Commands that may begin a site; others leave nothing behind where there is none.
BEGINS_SITE = ("up", "web", "work", "run", "init", "migrate", "restore")
SERVES = ("up", "web")
LOGS = (*SERVES, "work")  # their standard error is a log, which programs may read
_ADDRESS = ("FABER_BASE_URL", "FABER_HOST", "FABER_PORT")


def main() -> int:
    inherited.choose_settings()
    words = _spelt_for_django(sys.argv)
    try:
        if words[1:2] and words[1] in BEGINS_SITE:
            data_directory.make(data_place.place())
        if not {*words[1:2]} & {*SERVES}:
            _find_the_site()
        django.setup()
        memory.look_rarely()
        for warning in variables.misspelt(os.environ):
            if words[1] in LOGS:
                logger.warning(warning)
            else:
                sys.stderr.write(f"WARNING: {warning}\n")
        if mistake := _mistake(words[1]):
            return _refused(Invalid([Problem("", mistake)]), words)
        if refusal := inside.refusal(words[1:]):
            return _refused(NotAllowed(refusal), words)
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


def _find_the_site() -> None:
    """Let links lead to where the site of this data directory listens, unless somebody says."""
    if any(os.environ.get(name) for name in _ADDRESS):
        return
    if address := local_site.address(data_place.place()):
        os.environ["FABER_BASE_URL"] = address


def _spelt_for_django(argv: list[str]) -> list[str]:
    command = [word if word.startswith("-") else word.replace("-", "_") for word in argv[1:2]]
    return [argv[0], *command, *argv[2:]]


def _refused(error: FaberError, words: list[str]) -> int:
    from runs.terminal import console  # noqa: PLC0415  it needs the settings

    if "--json" in words:
        sys.stdout.write(f"{console.as_text(console.error_shape(error))}\n")
    sys.stderr.write(f"{error}\n")
    return console.code_of(error)


def _mistake(named: str) -> str:
    """A sentence when the first word is no command; Django's own would exit with 1."""
    known = get_commands()
    if named in known or named == "help" or named.startswith("-"):
        return ""
    near = nearest(named, known)
    hint = f" Did you mean {overview.spelt_for_people(near)}?" if near else ""
    return (
        f"There is no command {overview.spelt_for_people(named)!r}.{hint} `faber help` lists them."
    )


if __name__ == "__main__":
    sys.exit(main())
