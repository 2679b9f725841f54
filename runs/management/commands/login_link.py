from typing import Any

from django.core.management.base import CommandParser

from runs.accounts import users
from runs.domain.values.events import timestamp
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Print a link that signs an account in, once and within ten minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def reply(self, **options: Any) -> Reply:
        url, expires_at = users.login_link(users.find(options["name"]))
        return Reply(document={"url": url, "expires_at": timestamp(expires_at)}, text=url)
