from typing import Any

from django.core.management.base import CommandParser

from runs.engine import conformance
from runs.engine.find import find_run
from runs.terminal.console import DONE, FAILED, FaberCommand, Reply


class Command(FaberCommand):
    help = "Compare the executed steps of a run with its plan."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")

    def reply(self, **options: Any) -> Reply:
        run = find_run(options["run"], seen_by=None)
        verdict = conformance.verdict_of(run)
        refused = [
            f"refused at {each.key}, attempt {each.attempt}: {'; '.join(each.claims)}"
            for each in verdict.divergences
        ]
        judged = "conforms" if verdict.conforms else "diverged"
        return Reply(
            document=conformance.verdict_shape(verdict),
            text="\n".join([f"{run.run_id} {judged}: {verdict.summary()}", *refused]),
            exit_code=DONE if verdict.conforms else FAILED,
        )
