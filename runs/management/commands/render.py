from typing import Any

from runs.rendering import render
from runs.terminal import inputs
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Render Markdown from standard input to the safe HTML the site shows."
    needs_site = False

    def reply(self, **options: Any) -> Reply:
        html = str(render(inputs.standard_text()).html)
        return Reply(document={"html": html}, text=html)
