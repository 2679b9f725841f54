# ruff: noqa: N999  the command is called that
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.exchange.importing import Imported, take_in_all
from runs.domain.values.errors import Refused
from runs.record import run_json
from runs.terminal.console import (
    DONE,
    REFUSED,
    USAGE,
    FaberCommand,
    Reply,
    error_shape,
    problem_shapes,
)
from runs.terminal.layout import run_card


class Command(FaberCommand):
    help = "Import run directories with their history and open requests."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "dir", metavar="DIR", help="a run's folder, a folder of several runs, or a work tree"
        )

    def reply(self, **options: Any) -> Reply:
        imported = take_in_all(Path(options["dir"]).absolute())
        for one in imported:
            for note in one.notes:
                self.say(f"note: {note}" if len(imported) == 1 else f"note: {one.folder}: {note}")
        if len(imported) == 1:
            return _reply_of_one(imported[0])
        return _reply_of_many(imported)


def _reply_of_one(one: Imported) -> Reply:
    if one.run is None:
        raise one.error or Refused()
    shape = run_json.run_shape(one.run)
    return Reply(
        document={**shape, "notes": problem_shapes(one.notes)},
        text=run_card(shape),
    )


def _reply_of_many(imported: Sequence[Imported]) -> Reply:
    refused = [one.error for one in imported if one.error]
    code = DONE
    if refused:
        code = REFUSED if all(isinstance(error, Refused) for error in refused) else USAGE
    return Reply(
        document={"items": [_shape(one) for one in imported]},
        text="\n".join(_line(one) for one in imported),
        exit_code=code,
    )


def _shape(one: Imported) -> dict[str, object]:
    return {
        "directory": str(one.folder),
        "result": "imported" if one.run else "refused",
        "run": run_json.run_shape(one.run) if one.run else None,
        "notes": problem_shapes(one.notes),
        **({"error": error_shape(one.error)["error"]} if one.error else {}),
    }


def _line(one: Imported) -> str:
    if one.run:
        return f"{one.run.run_id}  {one.run.state.label}"
    return f"{one.folder}: refused\n  " + str(one.error).replace("\n", "\n  ")
