from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.attending import Attendant
from runs import beats, records, starting, surroundings
from runs.console import FaberCommand, Reply
from runs.domain.errors import Invalid, Problem
from runs.models import Run
from runs.starting import Wish


class Command(FaberCommand):
    help = "Run a workflow: here, with questions asked here, or detached by a worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workflow", metavar="WORKFLOW", help="a JSON or YAML file, or an id")
        parser.add_argument("--work-id", default="", metavar="ID", help="the issue it is about")
        parser.add_argument("--project", default="", metavar="ORG/NAME", help="default: from git")
        parser.add_argument("--workspace", default=".", metavar="DIR", help="default: this folder")
        parser.add_argument("--target", default="", metavar="T", help="what is worked on")
        parser.add_argument(
            "--autonomy", default="", metavar="LEVEL", help="overrides the workflow"
        )
        parser.add_argument("--phase", metavar="A,B", help="only these phases")
        parser.add_argument("--step", default="", metavar="PHASE:STEP", help="only this step")
        parser.add_argument("--prompt", default="", metavar="TEXT", help="more instructions")
        parser.add_argument(
            "--input", action="append", default=[], metavar="K=V", help="a placeholder"
        )
        parser.add_argument("--detach", action="store_true", help="let a worker execute it")

    def reply(self, **options: Any) -> Reply:
        wish, actor = _wish(options), surroundings.cli_actor()
        if options["detach"]:
            run, _ = starting.start(wish, actor)
            return self._detached(run)
        attendant = Attendant(actor, self.say, prompts=True)
        run, claim = starting.start(wish, actor, worker=attendant.worker)
        return attendant.attend(run, claim)

    def _detached(self, run: Run) -> Reply:
        if not beats.worker_is_alive():
            self.say("No worker is running; `faber up` or `faber work` starts one.")
        return Reply(document=records.run_shape(run), text=f"{run.run_id}\n{records.run_url(run)}")


def _wish(options: dict[str, Any]) -> Wish:
    if options["phase"] is not None and options["step"]:
        raise Invalid([Problem("", "Choose phases or a step, not both.")])
    if "," in options["work_id"]:
        raise Invalid(
            [Problem("work_id", "several make a batch, which cannot be started yet; give one")]
        )
    return Wish(
        workflow=options["workflow"],
        workspace=Path(options["workspace"]),
        project=options["project"],
        work_id=options["work_id"],
        target=options["target"],
        autonomy=options["autonomy"],
        phases=() if options["phase"] is None else tuple(options["phase"].split(",")),
        step=options["step"],
        prompt=options["prompt"],
        inputs=dict(map(_input, options["input"])),
    )


def _input(given: str) -> tuple[str, str]:
    key, separator, value = given.partition("=")
    if not (separator and key.strip()):
        raise Invalid([Problem("input", f"{given!r} is not an input; write it as NAME=VALUE")])
    return key.strip(), value
