from argparse import SUPPRESS
from typing import Any

from feedback.channels.trackers import polling
from runs import trackers
from runs.domain.values.errors import Refused
from runs.domain.values.numbers import number_of
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Read the comments of GitHub and GitLab now."

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        # Scripts pass it; reading once is all this does.
        parser.add_argument("--once", action="store_true", help=SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        if not trackers.running():
            raise Refused(
                "GitHub and GitLab are off. Set FABER_GITHUB_TOKEN, configure a GitHub App, or set "
                "FABER_GITLAB_TOKEN."
            )
        heard = polling.poll_all()
        text = f"{number_of(heard, 'new comment')} for FABER."
        return Reply(document={"heard": heard}, text=text)
