import time
from typing import Any

from django.core.management.base import CommandParser
from django.db import DatabaseError

from faber_site import commands
from faber_site.runtime.serving import ServingCommand
from runs.jobs import draining, register
from runs.models import machine
from runs.terminal import console

LOOK_SECONDS = 0.2


class Command(ServingCommand):
    help = "Start a worker without the site."
    has_cluster = True

    def execute_command(self) -> int:
        return commands.main()

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--drain",
            action="store_true",
            help="let the workers on this machine finish their steps, and wait until they exit",
        )
        parser.add_argument(
            "--timeout",
            type=float,
            metavar="SECONDS",
            help="with --drain: wait at most this long; exit 3 when steps are still running",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["drain"]:
            self._drain(options["timeout"], as_json=options["json"])
        else:
            super().handle(*args, **options)

    def _drain(self, seconds: float | None, *, as_json: bool) -> None:
        order = draining.Draining()
        asked = order.left()
        if asked:
            self.stderr.write("Waiting for running steps on this machine to finish.")
        deadline = None if seconds is None else time.monotonic() + seconds
        while order.left() and (deadline is None or time.monotonic() < deadline):
            time.sleep(LOOK_SECONDS)
        left, elsewhere = order.left(), self._elsewhere()
        told = {"asked": asked, "left": left, "elsewhere": elsewhere}
        self.stdout.write(console.as_text(told) if as_json else _text(asked, left, elsewhere))
        if left:
            raise SystemExit(console.AWAITING)

    def _elsewhere(self) -> list[str]:
        """The other machines whose workers go on."""
        if not machine.is_one_of_many():
            return []
        try:
            return [host.name for host in register.others() if register.has_workers(host)]
        except DatabaseError as error:
            self.stderr.write(f"WARNING: Could not list the other machines: {error}")
            return []


def _text(asked: int, left: int, elsewhere: list[str]) -> str:
    if left:
        said = "Some steps are still running. The workers exit when these finish."
    else:
        said = (
            "All workers on this machine have exited."
            if asked
            else "No worker is running on this machine."
        )
    if elsewhere:
        said += f" Workers still run on {', '.join(elsewhere)}; drain each before an upgrade."
    return said
