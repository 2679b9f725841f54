import json
import os
from argparse import SUPPRESS
from typing import Any, NoReturn

from django.core.management.base import CommandParser

from feedback.mcp import errands, relay
from feedback.mcp.http_transport import NOT_INSTALLED
from runs.domain.values.errors import Invalid, NotFound, Problem, Refused
from runs.isolation import inside
from runs.models import migrate
from runs.terminal.console import FaberCommand, Reply, has_site

# A step may take an hour by default; this leaves its agent some of it.
PATIENCE = 3000


class Command(FaberCommand):
    help = """Serve agents over MCP, on standard input and output.
With FABER_URL and FABER_TOKEN it calls that site; without them the site of this data directory."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--permission-wait",
            type=float,
            default=PATIENCE,
            metavar="SECONDS",
            help=f"how long approve_tool_use waits for a person (default {PATIENCE})",
        )
        # For the one that an isolated step is handed on to: its first line says what for.
        parser.add_argument("--relayed", action="store_true", help=SUPPRESS)

    def prepare(self) -> None:
        """No database is made here: nobody would ever look at the questions in it."""

    def reply(self, **options: Any) -> Reply:
        patience = relay.first_line() if options["relayed"] else options["permission_wait"]
        if isinstance(patience, dict):
            return Reply(text=json.dumps(errands.done(patience)))
        if not 0 <= patience <= 86400:
            raise Invalid([Problem("--permission-wait", "is a number of seconds, up to a day")])
        return self._serve(patience)

    def _serve(self, patience: float) -> NoReturn:
        url, token = (os.environ.get(name, "").strip() for name in ("FABER_URL", "FABER_TOKEN"))
        if bool(url) != bool(token):
            raise Refused("Set both FABER_URL and FABER_TOKEN, or neither for this machine's site.")
        if not url and (way_out := inside.door()):
            relay.serve(way_out, patience=patience)
        run_id = os.environ.get("FABER_RUN_ID", "").strip()
        # Only now: the protocol's package takes a second to load.
        try:
            from feedback.mcp import local_site, remote_site, stdio_transport  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise Refused(NOT_INSTALLED) from error

        if url:
            try:
                far = remote_site.There(url, token)
            except ValueError as error:
                raise Invalid([Problem("FABER_URL", str(error))]) from error
            stdio_transport.serve(far, patience=patience, run_id=run_id)
        if not has_site():
            raise NotFound(
                f"There is no FABER site in {migrate.place()}. Start one with `faber up`, or set "
                "FABER_URL and FABER_TOKEN."
            )
        stdio_transport.serve(
            local_site.Here(local_site.account_caller(run_id)), patience=patience, run_id=run_id
        )
