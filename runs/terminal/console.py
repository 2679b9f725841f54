"""What every `faber` command shares: `--json`, exit codes, and sentences instead of tracebacks."""

import contextlib
import io
import json
import re
import sys
import traceback
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils import timezone

from runs.chain import refusals
from runs.domain.values.errors import (
    FaberError,
    Invalid,
    NewerDatabase,
    NotAllowed,
    NotFound,
    Problem,
    Pruned,
    Refused,
)
from runs.domain.values.status import RunStatus
from runs.isolation import inside
from runs.models import migrate
from runs.terminal import identity, pager
from runs.terminal.layout import clean

DONE, UNEXPECTED, USAGE, AWAITING, FAILED, CANCELLED, NOT_FOUND, REFUSED = range(8)
OUT_OF_REACH = "Steps can't access the site's data. Use the briefing instead."
# They go on working; in a help page they would hide the command's own.
DJANGO_OPTIONS = (
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
)
INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended

_BY_ERROR: tuple[tuple[type[FaberError], int], ...] = (
    (NotFound, NOT_FOUND),
    (Refused, REFUSED),
    (Invalid, USAGE),
    (NewerDatabase, USAGE),
    (FaberError, UNEXPECTED),
)
# Control characters but for tab and line end, and those that turn the direction of a text around.
_NO_SITE = (
    "There is no FABER site in {}. Start one with `faber up`, "
    "or set FABER_DATA_DIR or FABER_DATABASE_URL to an existing one."
)
_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COLOUR = re.compile(r"\x1b\[(?:[0-7]|[349][0-7])?(?:;(?:[0-7]|[349][0-7]))*m")
_BY_STATUS = {
    RunStatus.AWAITING_FEEDBACK: AWAITING,
    RunStatus.FAILED: FAILED,
    RunStatus.CANCELLED: CANCELLED,
}


def exit_code_of(status: RunStatus) -> int:
    """The exit code of a command that leaves a run in this state."""
    return _BY_STATUS.get(status, DONE)


def code_of(error: FaberError) -> int:
    """The exit code of a command that ends with this error."""
    return next(code for kind, code in _BY_ERROR if isinstance(error, kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a command found: a document for programs, a text for people, an exit code for both."""

    document: object = None
    text: str = ""
    exit_code: int = DONE
    plain: bytes = b""  # for programs that take no JSON: printed as it is, in place of the text
    is_paged: bool = False  # the text is long: on a screen it is shown a page at a time


class FaberCommand(BaseCommand):
    """A command that answers with a Reply; `reply` is what a subclass writes."""

    requires_system_checks: list[str] = []
    suppressed_base_arguments = set(DJANGO_OPTIONS)
    needs_site: ClassVar[bool] = True
    begins_site: ClassVar[bool] = False  # its data directory is made by `faber_site.cli`

    @abstractmethod
    def reply(self, **options: Any) -> Reply:
        """Do the command's work."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Whole names only: `--force` would pass for the hidden `--force-color`, and do nothing.
        kwargs = {"allow_abbrev": False, **kwargs}
        parser = super().create_parser(prog_name, subcommand.replace("_", "-"), **kwargs)
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        if "--json" in argv[2:]:
            self._print_misuse(argv)
        super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        as_json: bool = options.pop("json", False)
        _print_whatever_the_locale()
        try:
            self.prepare()
            answer = self.reply(**options)
        except FaberError as error:
            self._note(error, options)
            self._refuse(error, as_json=as_json)
        except Exception as error:  # a mistake of ours, whatever it is
            if options.get("traceback") or isinstance(error, BrokenPipeError):
                raise
            self._refuse(_unexpected(error), as_json=as_json)
        if as_json:
            self.stdout.write(as_text(answer.document))
        elif answer.plain:
            self._print(answer.plain)
        elif answer.text and answer.is_paged and self.in_colour:
            pager.show(steady(answer.text, colours=True))
        elif answer.text:
            self.stdout.write(steady(answer.text, colours=self.in_colour))
        if answer.exit_code:
            sys.exit(answer.exit_code)

    def _print_misuse(self, argv: list[str]) -> None:
        """Wrong usage is a document too; the usage itself is printed when it is read again."""
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # of --help, which is no mistake
                self.create_parser(argv[0], argv[1]).parse_args(argv[2:])
        except CommandError as error:  # where nobody is at a command line, it is raised
            sentence = str(error).removeprefix("Error: ")
            self.stdout.write(as_text(error_shape(Invalid([Problem("", sentence)]))))
        except SystemExit:
            pass

    def prepare(self) -> None:
        """See that there is a site to speak to, and that this version knows it."""
        if inside.is_hidden(settings.FABER_DATA_DIR):
            return  # nothing can be made here, and some commands need nothing
        if has_site():
            return
        if self.begins_site:
            migrate.bring_up_to_date()
        elif self.needs_site:
            raise NotFound(_NO_SITE.format(migrate.place()))

    @property
    def in_colour(self) -> bool:
        """Whether the answer goes to somebody's screen."""
        return self.stdout.isatty()

    def _print(self, plain: bytes) -> None:
        out: object = self.stdout._out
        if isinstance(out, io.TextIOWrapper):
            out.flush()
            out.buffer.write(plain)
        else:  # a text in memory
            self.stdout.write(plain.decode(errors="replace"), ending="")

    def say(self, line: str) -> None:
        """A message for people: never on standard output, which belongs to the answer."""
        self.stderr.write(steady(line), str)

    def _note(self, error: FaberError, options: dict[str, Any]) -> None:
        """Put it on record when somebody tried what they may not do."""
        if not isinstance(error, refusals.TELLING) or inside.is_hidden(settings.FABER_DATA_DIR):
            return
        what = f"faber {type(self).__module__.rpartition('.')[2].replace('_', '-')}"
        about = {
            "request_id": str(options.get("request") or ""),
            "run_id": _run_named(str(options.get("run") or "")),
        }
        refusals.note(error, actor=identity.cli_actor(), what=what, **about)

    def _refuse(self, error: FaberError, *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(as_text(error_shape(error)))
        self.stderr.write(steady(str(error)))
        sys.exit(code_of(error))


def has_site() -> bool:
    """Whether somebody started a site in this database; a look makes none."""
    return migrate.is_there() and migrate.check_version()


def _run_named(reference: str) -> str:
    """The id of the run that a command is about, as far as there is one."""
    from runs.engine.find import find_run  # noqa: PLC0415  the engine; only a refusal needs it

    try:
        return find_run(reference, seen_by=None).run_id if reference else ""
    except FaberError:
        return ""


def as_text(document: object) -> str:
    """JSON that a terminal shows as it is; for programs it says the same."""
    written = json.dumps(document, indent=2, ensure_ascii=False)
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def steady(text: str, *, colours: bool = False) -> str:
    """What somebody reads on a terminal, without the characters that would steer it.

    File names, keys of workflows and words of people stand in it. Colours are ours: whoever lays
    a text out on a screen takes those of others out before.
    """
    pieces = _COLOUR.split(text) if colours else [text]
    kept = _COLOUR.findall(text) if colours else []
    plain = [_STEERS.sub("", piece.replace("\r\n", "\n")) for piece in pieces]
    return "".join(part for pair in zip(plain, [*kept, ""], strict=True) for part in pair)


def error_shape(error: FaberError) -> dict[str, object]:
    """An error as programs read it, on the command line and over HTTP alike."""
    details: dict[str, object] = dict(error.details)
    if isinstance(error, Invalid):
        details["problems"] = problem_shapes(error.problems)
    return {"error": {"code": error.code, "message": str(error), "details": details}}


def error_from(shape: Mapping[str, Any]) -> FaberError:
    """The error that such a shape tells of, so that a command ends as it would have there."""
    told, details = str(shape.get("message") or ""), shape.get("details") or {}
    match shape.get("code"):
        case Invalid.code:
            return Invalid(Problem(**each) for each in details.get("problems", ()))
        case NotFound.code:
            return NotFound(told)
        case Pruned.code:
            return Pruned(told)
        case "unauthorised" | "error" | "unexpected" | None:
            return FaberError(told or None)
    return Refused(told)


def problem_shapes(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{"place": problem.place, "message": problem.message} for problem in problems]


def verdict_reply(errors: Sequence[Problem], warnings: Sequence[Problem], **more: object) -> Reply:
    """What a validating command answers: every problem with its place, on its own line."""
    lines = [clean(line) for line in (*errors, *(f"warning: {warning}" for warning in warnings))]
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
    if isinstance(error, DatabaseError) and inside.is_hidden(settings.FABER_DATA_DIR):
        return NotAllowed(OUT_OF_REACH)
    if isinstance(error, OperationalError | InterfaceError):
        return FaberError(migrate.unreachable(error))
    log = Path(settings.FABER_DATA_DIR) / "faber.log"
    what = traceback.format_exception_only(error)[-1].strip()
    with contextlib.suppress(OSError), log.open("a") as file:
        file.write(f"{timezone.now():%Y-%m-%d %H:%M:%S} {' '.join(sys.argv[1:2])}\n")
        traceback.print_exception(error, file=file)
    return FaberError(f"Unexpected error: {what}. Details are in {log}.")
