import os
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

import faber_client
from feedback.mcp import errands, relay
from feedback.mcp.relay import Json
from runs.domain.values.errors import FaberError, Invalid, NotAllowed, Problem, Refused
from runs.engine import work_events
from runs.engine.find import find_run
from runs.engine.work_events import WorkEvent
from runs.isolation import inside
from runs.terminal import identity, inputs
from runs.terminal.console import FaberCommand, Reply, error_from
from runs.terminal.layout import event_line


class Command(FaberCommand):
    help = """Add a work event to the history of a run: a commit, a test run, a pull request.
A step names its own run, such as "$FABER_RUN_ID". With FABER_URL and FABER_TOKEN it calls that
site; without them the site of this data directory, also from inside an isolated step."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument(
            "type", metavar="TYPE", help="commit, branch, pull_request, test, artifact, checkpoint…"
        )
        parser.add_argument("--message", required=True, metavar="TEXT", help="what happened")
        parser.add_argument(
            "--data", default="{}", metavar="JSON", help="additional data, as a JSON object"
        )

    def prepare(self) -> None:
        if not (_site() or inside.door()):
            super().prepare()

    def reply(self, **options: Any) -> Reply:
        told = WorkEvent(
            type=options["type"], message=options["message"], metadata=_data(options["data"])
        )
        document = _emitted(options["run"], told)
        return Reply(document=document, text=event_line(document))


def _emitted(reference: str, told: WorkEvent) -> Json:
    own = os.environ.get("FABER_RUN_ID", "").strip()
    if site := _site():
        _check_own(reference, own)
        return _sent(site, reference, told)
    if door := inside.door():
        answer = relay.run_errand(door, {"run": reference, "emit": asdict(told)})
        if "error" in answer:
            raise error_from(answer["error"])
        return answer
    if inside.is_step():
        return errands.emit(reference, asdict(told), own)
    actor = identity.cli_actor()
    return work_events.add(find_run(reference, seen_by=actor).pk, told, actor)


def _sent(site: tuple[str, str], reference: str, told: WorkEvent) -> Json:
    try:
        return faber_client.Faber(*site).emit(
            reference, told.type, told.message, dict(told.metadata)
        )
    except faber_client.FaberError as error:
        shape = {"code": error.code, "message": str(error), "details": error.details}
        raise error_from(shape) from error
    except (faber_client.Unreachable, ValueError) as error:
        raise FaberError(f"Could not reach FABER. {error}") from error


def _site() -> tuple[str, str] | None:
    url, token = (os.environ.get(name, "").strip() for name in ("FABER_URL", "FABER_TOKEN"))
    if bool(url) != bool(token):
        raise Refused("Set both FABER_URL and FABER_TOKEN, or neither for this machine's site.")
    return (url, token) if url else None


def _check_own(reference: str, own: str) -> None:
    """Inside a step: the token may be for more than its run."""
    named = reference.strip().lower()
    if own and named != own and not (len(named) >= 8 and own.rpartition("/")[2].startswith(named)):
        raise NotAllowed(errands.OTHERS)


def _data(text: str) -> Json:
    try:
        data = inputs.parse_json(text)
    except Invalid as error:
        raise Invalid([Problem("--data", str(error))]) from error
    if not isinstance(data, dict):
        raise Invalid([Problem("--data", "must be a JSON object")])
    return data
