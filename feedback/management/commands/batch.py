import argparse
import time
from typing import Any

from django.core.management.base import CommandParser

from feedback.batches import aggregate, answering, comment
from feedback.batches.group import Group, selected
from feedback.terminal import start_options
from runs.domain.planning.batch import Counts, Stop
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.engine import batches
from runs.jobs import heartbeat
from runs.terminal import identity, inputs
from runs.terminal.console import AWAITING, DONE, FAILED, REFUSED, FaberCommand, Reply
from runs.terminal.layout import clean

LOOK_SECONDS = 1.0
_UNSAID = argparse.SUPPRESS


class Command(FaberCommand):
    help = "Start several runs together, see their requests and answer them at once."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        start = actions.add_parser("start", help="start a workflow for several work ids")
        start_options.add_to(start)
        start.add_argument(
            "--concurrency",
            type=int,
            default=batches.AT_ONCE,
            metavar="N",
            help=f"runs at the same time; default: {batches.AT_ONCE}",
        )
        start.add_argument(
            "--issue", default="", metavar="ID", help="the issue to report the batch on"
        )
        show = actions.add_parser("show", help="show all requests of a batch as text")
        answer = actions.add_parser("answer", help="answer with lines such as `#124: approve`")
        wait = actions.add_parser("wait", help="wait until every run has stopped")
        for action in (show, answer, wait):
            action.add_argument(
                "batch", nargs="?", metavar="ID", help="such as coord-20261116-a1b2c3"
            )
            action.add_argument("--run", metavar="A,B,C", help="any runs by id, instead of a batch")
        answer.add_argument("file", nargs="?", metavar="FILE", help="default: standard input")
        wait.add_argument("--timeout", type=float, metavar="S", help="stop waiting after this time")
        for action in (start, show, answer, wait):
            # Also after the action, where people write it; given before, it stays.
            action.add_argument("--json", action="store_true", default=_UNSAID)

    def reply(self, **options: Any) -> Reply:
        if options["action"] == "start":
            return started(self, options)
        batch, rest = _named(options["batch"], options["run"])
        if rest and (options["action"] != "answer" or options["file"]):
            raise Invalid([Problem("--run", "give either --run or a batch id, not both")])
        match options["action"]:
            case "answer":
                return self._answer(batch, inputs.read_text(options["file"] or rest or "-"))
            case "wait":
                return self._wait(batch, options["timeout"])
            case _:
                return shown(batch)

    def _answer(self, batch: Group, text: str) -> Reply:
        results = answering.answer_text(batch, text, identity.cli_actor())
        if not results:
            raise Invalid(
                [Problem("", "no answers found. Write one line per run, such as `#124: approve`")]
            )
        if any(result.is_applied for result in results) and (why := heartbeat.why_nothing_runs()):
            self.say(why)
        comment.tell_of(batch)
        lines = [f"{r.line}: {r.outcome.value}: {clean(r.message)}" for r in results]
        return Reply(
            document={"results": [result.shape() for result in results]},
            text="\n".join(lines),
            exit_code=DONE if all(result.is_applied for result in results) else REFUSED,
        )

    def _wait(self, batch: Group, timeout: float | None) -> Reply:
        deadline = time.monotonic() + timeout if timeout is not None else None
        told = None
        while not (counts := aggregate.read(batch).counts).all_stopped:
            if told is None and (why := heartbeat.why_nothing_runs()):
                self.say(why)
            if counts.stopped != told:
                told = counts.stopped
                self.say(f"{told} of {counts.total} runs have stopped.")
            if deadline is not None and time.monotonic() > deadline:
                raise Refused(
                    f"{told} of {counts.total} runs have stopped; the others are still running."
                )
            time.sleep(LOOK_SECONDS)
        comment.tell_of(batch)
        reply = shown(batch)
        return Reply(document=reply.document, text=reply.text, exit_code=exit_code_of(counts))


def _named(batch_id: str | None, runs: str | None) -> tuple[Group, str]:
    """The group that is meant, and the word that is not its name: a file, if it is anything."""
    if runs is not None:
        return selected([runs], seen_by=None), batch_id or ""
    if not batch_id:
        raise Invalid([Problem("ID", "give a batch id, or runs with --run A,B,C")])
    return batches.find(batch_id, seen_by=None), ""


def started(command: FaberCommand, options: dict[str, Any]) -> Reply:
    batch = batches.start(start_options.batch_wish_of(options), identity.cli_actor())
    comment.tell(batch.pk)
    if why := heartbeat.why_nothing_runs():
        command.say(why)
    return Reply(
        document=aggregate.aggregate(batch),
        text=f"{batch.batch_id}\n{batches.batch_url(batch)}",
    )


def shown(batch: Group) -> Reply:
    return Reply(document=aggregate.aggregate(batch), text=clean(aggregate.prompt(batch)).rstrip())


def exit_code_of(counts: Counts) -> int:
    """What a script must know first: somebody is asked; else something failed."""
    if counts.by_stop[Stop.AWAITING_FEEDBACK]:
        return AWAITING
    return FAILED if counts.by_stop[Stop.ERROR] else DONE
