from typing import Any

from django.core.management.base import CommandParser

from runs.context import reader
from runs.domain.values.errors import Invalid, Problem
from runs.engine.find import find_run
from runs.models import Run
from runs.terminal import context
from runs.terminal.console import FaberCommand, Reply
from runs.worker import replay


class Command(FaberCommand):
    help = "Print a context package of a run, by default the newest."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("--package", type=int, metavar="N", help="package number, from 1")
        parser.add_argument(
            "--diff", type=int, nargs=2, metavar=("M", "N"), help="changes from package M to N"
        )
        parser.add_argument(
            "--replay", action="store_true", help="with --dry-run: the exact input of the executor"
        )
        parser.add_argument("--dry-run", action="store_true", help="execute nothing")

    def reply(self, **options: Any) -> Reply:
        _check(options)
        run = find_run(options["run"], seen_by=None)
        if options["diff"]:
            return self._difference(run, *options["diff"])
        number = _number(run) if options["package"] is None else options["package"]
        if options["replay"]:
            shown = replay.replay(run, number)
            return Reply(document=shown.shape(), text=context.replay_text(run.run_id, shown))
        package = reader.package_of(run, number)
        return Reply(
            document=package.document,
            text=context.package_text(run.run_id, package, colour=self.in_colour),
        )

    def _difference(self, run: Run, old: int, new: int) -> Reply:
        found = reader.compared(run, old, new)
        return Reply(
            document={"from": old, "to": new, **found.shape()},
            text=context.comparison_text(old, new, found, colour=self.in_colour),
        )


def _check(options: dict[str, Any]) -> None:
    """Words that do not go together are refused before anything is looked at."""
    if options["replay"] and not options["dry_run"]:
        sentence = "--replay requires --dry-run: this command executes nothing."
    elif options["dry_run"] and not options["replay"]:
        sentence = "--dry-run requires --replay."
    elif options["diff"] and (options["replay"] or options["package"] is not None):
        sentence = "--diff can't be combined with --package or --replay."
    else:
        return
    raise Invalid([Problem("", sentence)])


def _number(run: Run) -> int:
    """How many packages there are, which is the number of the newest."""
    return run.packages.count() or 1
