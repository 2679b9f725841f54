from typing import Any

from django.core.management.base import CommandParser

from feedback.management.commands import batch
from feedback.terminal import start_options
from feedback.terminal.session import Attendant
from runs.engine import starting, turns
from runs.jobs import heartbeat
from runs.models import Run
from runs.record import run_json, state_json
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.workspaces.agents import missing_for_run


class Command(FaberCommand):
    help = (
        "Run a workflow here and answer its requests inline, or hand it to a worker with --detach."
    )
    begins_site = True

    def add_arguments(self, parser: CommandParser) -> None:
        start_options.add_to(parser)
        parser.add_argument("--detach", action="store_true", help="let a worker execute it")

    def reply(self, **options: Any) -> Reply:
        if start_options.is_for_many(options):
            return batch.started(self, options)
        wish, actor = start_options.wish_of(options), identity.cli_actor()
        if options["detach"]:
            run, _ = starting.start(wish, actor)
            return self._detached(run)
        attendant = Attendant(actor, self.say, prompts=True)
        run, claim = starting.start(wish, actor, worker=attendant.worker)
        self._warn(run)
        return attendant.attend(run, claim)

    def _warn(self, run: Run) -> None:
        """Before the first step; only a warning, since another machine may execute the others."""
        for told in missing_for_run(run):
            self.say(told)

    def _detached(self, run: Run) -> Reply:
        self._warn(run)
        if why := heartbeat.why_nothing_runs():
            self.say(why)
        if wait := turns.wait_of(run):
            self.say(str(wait))
        return Reply(
            document=run_json.run_shape(run), text=f"{run.run_id}\n{state_json.run_url(run)}"
        )
