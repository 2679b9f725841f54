import argparse
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from feedback.channels.notices import addressing, channel, sending, standing
from feedback.channels.notices.standing import NoticeShown
from runs.accounts import permissions, users
from runs.domain.values.errors import NotFound
from runs.pages.projects import settings
from runs.terminal import identity, layout
from runs.terminal.console import DONE, FAILED, FaberCommand, Reply


class Command(FaberCommand):
    help = "Send a test notice and say whether it arrived."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="do", required=True, metavar="test")
        test = actions.add_parser("test", help="to FABER_NOTIFY_URLS, unless another is named")
        whom = test.add_mutually_exclusive_group()
        whom.add_argument("--user", metavar="U", help="to this account's own addresses")
        whom.add_argument("--project", "-p", metavar="P", help="to this project's addresses")
        test.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        permissions.check_may_operate(identity.cli_actor())
        user = users.find(options["user"]) if options["user"] else None
        project = settings.find(options["project"], seen_by=None) if options["project"] else None
        test = channel.send_test(project=project, name=user.get_username() if user else "")
        addressing.address(test.pk)
        for each in standing.of_announcement(test):
            sending.send(each.notice.pk)
        return self._told(standing.of_announcement(test))

    def _told(self, sent: Sequence[NoticeShown]) -> Reply:
        if not sent:
            raise NotFound("There is no address to send a test to.")
        document = [
            {"to": each.to, "state": each.state, "error": each.notice.last_error} for each in sent
        ]
        rows = [(each.to, each.state, each.notice.last_error) for each in sent]
        return Reply(
            document={"items": document},
            text=layout.columns(("RECEIVER", "STATE", "CAUSE"), rows, colour=self.in_colour),
            exit_code=DONE if all(each.state == "sent" for each in sent) else FAILED,
        )
