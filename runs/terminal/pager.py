"""Shows a long text on somebody's screen, a page at a time."""

import os
import shlex
import shutil
import subprocess
import sys
from typing import TextIO

_USUAL = ("less", "more")
# Of less: end at once when all of it is on the screen, show colours, leave the text there.
_OPTIONS = {"LESS": "FRX", "LESSCHARSET": "utf-8"}


def show(text: str, on: TextIO | None = None) -> None:
    """Until whoever reads has read enough; without a pager all of it at once."""
    screen = on or sys.stdout
    command = shlex.split(os.environ.get("PAGER", "")) or _found()
    if command and shutil.which(command[0]):
        environment = {**_OPTIONS, **os.environ}
        _fed(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=screen, env=environment, encoding="utf-8"
            ),
            text,
        )
    else:
        screen.write(text)
        screen.flush()


def _fed(process: subprocess.Popen[str], text: str) -> None:
    while True:
        try:
            process.communicate(text)
        except KeyboardInterrupt:
            continue  # meant for the pager, which got it too
        return


def _found() -> list[str]:
    return [name for name in _USUAL if shutil.which(name)][:1]
