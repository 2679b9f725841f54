from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.upkeep import backup
from runs.domain.values.numbers import number_of
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Write the whole site into one file: database, artifacts and keys. It may keep running."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="must not be there yet")

    def reply(self, **options: Any) -> Reply:
        target = Path(options["file"]).absolute()
        made = backup.write(target, identity.cli_actor())
        rows = sum(table.rows for table in made.tables.values())
        size = target.stat().st_size
        self.say("It holds the keys of the site. Keep it as you keep a password.")
        return Reply(
            document={"file": str(target), "made_at": made.made_at, "rows": rows, "bytes": size},
            text=f"{target}: {number_of(rows, 'row')}, {size / 1024**2:,.1f} MB",
        )
