from typing import Any

from feedback.channels.markdown.commands import CommandKind, parse
from runs.terminal import inputs
from runs.terminal.console import FaberCommand, Reply, as_text


class Command(FaberCommand):
    help = "Show which command FABER reads in a comment from standard input."
    needs_site = False

    def reply(self, **options: Any) -> Reply:
        command = parse(inputs.standard_text())
        if command is None or command.kind is CommandKind.UNCLEAR:
            if command:
                self.say(command.reason)
            return Reply(document=None, text=as_text(None))
        document = {
            "command": command.kind.value,
            "run": command.run,
            "response": command.response,
            "feedback": command.feedback,
        }
        if command.kind is CommandKind.START:
            document["workflow"] = command.workflow
        return Reply(document=document, text=as_text(document))
