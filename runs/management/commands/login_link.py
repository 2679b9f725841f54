from typing import Any

from django.core.management.base import CommandParser

from runs import accounts
from runs.console import FaberCommand, Reply
from runs.domain.events import timestamp


class Command(FaberCommand):
    help = "Print a link that signs an account in, once and within ten minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def reply(self, **options: Any) -> Reply:
        url, expires_at = accounts.login_link(accounts.find(options["name"]))
        return Reply(document={"url": url, "expires_at": timestamp(expires_at)}, text=url)
