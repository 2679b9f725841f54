import re
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from feedback.upkeep import prune
from feedback.upkeep.prune import Removed
from runs.accounts import permissions
from runs.chain import entries
from runs.domain.values.errors import Invalid, Problem
from runs.models import clock
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply

_DAYS = re.compile(r"([1-9][0-9]{0,4})d")


class Command(FaberCommand):
    help = "Delete output and context packages of old runs; decisions, events and artifacts stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than", required=True, metavar="AGE", help="of runs that are over, such as 90d"
        )
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def reply(self, **options: Any) -> Reply:
        actor = identity.cli_actor()
        permissions.check_may_operate(actor)
        before = clock.now() - _age(options["older_than"])
        if options["dry_run"]:
            found = prune.outlook(before)
            return Reply(document={"dry_run": True, **found.shape()}, text=_told(found, "Would go"))
        entries.rule(actor, f"pruned what is older than {options['older_than']}")
        removed = prune.prune(before)
        return Reply(document={"dry_run": False, **removed.shape()}, text=_told(removed, "Removed"))


def _age(text: str) -> timedelta:
    found = _DAYS.fullmatch(text.strip())
    if found is None:
        raise Invalid([Problem("--older-than", "write it in days, such as 90d")])
    return timedelta(days=int(found[1]))


def _told(removed: Removed, title: str) -> str:
    fields = [(name.replace("_", " "), f"{count:,}") for name, count in removed.shape().items()]
    return layout.card(title, fields)
