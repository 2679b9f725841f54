from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.upkeep import restore
from runs.chain import entries
from runs.domain.values.numbers import number_of
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Make the site of a backup here, where there is none yet."
    begins_site = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="what `faber backup` wrote")

    def prepare(self) -> None:
        """The database comes to be as it was when the backup was made, and only then up to date."""

    def reply(self, **options: Any) -> Reply:
        source = Path(options["file"]).absolute()
        made = restore.restore(source)
        entries.rule(identity.cli_actor(), f"restored the site from a backup of {made.made_at}")
        rows = sum(table.rows for table in made.tables.values())
        self.say("Stop the site that this is a copy of: both would answer and comment.")
        return Reply(
            document={"file": str(source), "made_at": made.made_at, "rows": rows},
            text=f"Restored {number_of(rows, 'row')} from the backup of {made.made_at}.",
        )
