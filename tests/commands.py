"""Calls `faber` commands: in this process, or as a shell would."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import call_command

CHECKOUT = Path(__file__).resolve().parents[1]
FABER = Path(sys.executable).with_name("faber")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def faber(*words: str, stdin: str | bytes = b"") -> Answer:
    """A command in this process, on the test's own database."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with _standard_input(stdin.encode() if isinstance(stdin, str) else stdin):
        try:
            call_command(words[0].replace("-", "_"), *words[1:], stdout=out, stderr=err)
        except SystemExit as end:
            code = int(str(end.code))
    return Answer(code=code, out=out.getvalue(), err=err.getvalue())


def shell(folder: Path, *words: str, stdin: str = "") -> Answer:
    """The console script, in a folder whose `data` is its own site."""
    done = subprocess.run(
        [FABER, *words],
        cwd=folder,
        env=environment(folder),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FABER_", "DJANGO_"))}
    return kept | {
        "FABER_DATA_DIR": str(folder / "data"),
        "FABER_PYTHON_STEPS": "tests.steps",
        "PYTHONPATH": str(CHECKOUT),
        "TERM": "xterm",
        "COLUMNS": "120",
    }


@contextmanager
def _standard_input(content: bytes) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(content))
    try:
        yield
    finally:
        sys.stdin = before
