"""What every `faber` command shares: `--json`, exit codes, and sentences instead of tracebacks."""

import contextlib
import io
import json
import sys
import traceback
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from django.utils import timezone

from runs.domain.values.errors import FaberError, Invalid, NotFound, Problem, Refused
from runs.domain.values.status import RunStatus
from runs.models import migrate

DONE, UNEXPECTED, USAGE, AWAITING, FAILED, CANCELLED, NOT_FOUND, REFUSED = range(8)
INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended

_BY_ERROR: tuple[tuple[type[FaberError], int], ...] = (
    (NotFound, NOT_FOUND),
    (Refused, REFUSED),
    (Invalid, USAGE),
    (FaberError, UNEXPECTED),
)
_BY_STATUS = {
    RunStatus.AWAITING_FEEDBACK: AWAITING,
    RunStatus.FAILED: FAILED,
    RunStatus.CANCELLED: CANCELLED,
}


def exit_code_of(status: RunStatus) -> int:
    """The exit code of a command that leaves a run in this state."""
    return _BY_STATUS.get(status, DONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a command found: a document for programs, a text for people, an exit code for both."""

    document: object = None
    text: str = ""
    exit_code: int = DONE


class FaberCommand(BaseCommand):
    """A command that answers with a Reply; `reply` is what a subclass writes."""

    requires_system_checks: list[str] = []
    # Django's own options go on working; in a help page they would hide the command's.
    suppressed_base_arguments = {
        *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
        *("--no-color", "--force-color", "--skip-checks"),
    }

    @abstractmethod
    def reply(self, **options: Any) -> Reply:
        """Do the command's work."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand.replace("_", "-"), **kwargs)
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        as_json: bool = options.pop("json", False)
        _print_whatever_the_locale()
        try:
            self.prepare()
            answer = self.reply(**options)
        except FaberError as error:
            self._refuse(error, as_json=as_json)
        except Exception as error:  # a mistake of ours, whatever it is
            if options.get("traceback") or isinstance(error, BrokenPipeError):
                raise
            self._refuse(_unexpected(error), as_json=as_json)
        if as_json:
            self.stdout.write(as_text(answer.document))
        elif answer.text:
            self.stdout.write(answer.text)
        if answer.exit_code:
            sys.exit(answer.exit_code)

    def prepare(self) -> None:
        """A first command on a fresh data directory just works, without `faber up` before it."""
        if "django_migrations" not in connection.introspection.table_names():
            migrate.bring_up_to_date()

    @property
    def in_colour(self) -> bool:
        """Whether the answer goes to somebody's screen."""
        return self.stdout.isatty()

    def say(self, line: str) -> None:
        """A message for people: never on standard output, which belongs to the answer."""
        self.stderr.write(line, str)

    def _refuse(self, error: FaberError, *, as_json: bool) -> NoReturn:
        code = next(code for kind, code in _BY_ERROR if isinstance(error, kind))
        if as_json:
            self.stdout.write(as_text(error_shape(error)))
        self.stderr.write(str(error))
        sys.exit(code)


def as_text(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def error_shape(error: FaberError) -> dict[str, object]:
    """An error as programs read it, on the command line and over HTTP alike."""
    details: dict[str, object] = dict(error.details)
    if isinstance(error, Invalid):
        details["problems"] = problem_shapes(error.problems)
    return {"error": {"code": error.code, "message": str(error), "details": details}}


def problem_shapes(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{"place": problem.place, "message": problem.message} for problem in problems]


def verdict_reply(errors: Sequence[Problem], warnings: Sequence[Problem], **more: object) -> Reply:
    """What a validating command answers: every problem with its place, on its own line."""
    lines = [*map(str, errors), *(f"warning: {warning}" for warning in warnings)]
    return Reply(
        document={
            "valid": not errors,
            "errors": problem_shapes(errors),
            "warnings": problem_shapes(warnings),
            **more,
        },
        text="\n".join(lines if errors else [*lines, "valid"]),
        exit_code=USAGE if errors else DONE,
    )


def _print_whatever_the_locale() -> None:
    """An odd character in somebody's text becomes a question mark, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _unexpected(error: Exception) -> FaberError:
    """A sentence for whoever typed the command; the traceback goes to a file."""
    log = Path(settings.FABER_DATA_DIR) / "faber.log"
    what = traceback.format_exception_only(error)[-1].strip()
    with contextlib.suppress(OSError), log.open("a") as file:
        file.write(f"{timezone.now():%Y-%m-%d %H:%M:%S} {' '.join(sys.argv[1:2])}\n")
        traceback.print_exception(error, file=file)
    return FaberError(f"Something went wrong that should not: {what}. More is in {log}.")
