from typing import Any

from django.core.management.base import CommandParser

from runs.accounts import users
from runs.chain import entries
from runs.domain.values.events import timestamp
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Print a one-time sign-in link, valid for 10 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="an account")

    def reply(self, **options: Any) -> Reply:
        user = users.find(options["name"])
        url, expires_at = users.login_link(user)
        entries.rule(identity.cli_actor(), f"made a sign-in link for {user.get_username()}")
        return Reply(document={"url": url, "expires_at": timestamp(expires_at)}, text=url)
