import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import CommandParser

from feedback.exchange.sync.watch import TRIES, Sync
from runs.domain.values.numbers import number_of
from runs.terminal.console import FaberCommand, Reply

SECONDS = 1.0  # between two looks
_SHORT = 0.2  # when a directory was in the middle of a change


class Command(FaberCommand):
    help = "Show requests from runs of another FABER and write the answers to their directories."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "dir", metavar="DIR", help="a work tree, a base path of many runs, or one run's folder"
        )
        parser.add_argument("--once", action="store_true", help="check once and exit")

    def reply(self, **options: Any) -> Reply:
        sync = Sync(Path(options["dir"]).resolve(), self.say)
        if options["once"]:
            self._look_once(sync)
        else:
            self._watch(sync)
        document = _summary(sync)
        return Reply(document=document, text=_text(sync) if options["once"] else "")

    def _look_once(self, sync: Sync) -> None:
        pause = threading.Event()
        for _ in range(TRIES):
            if sync.look():
                return
            pause.wait(_SHORT)

    def _watch(self, sync: Sync) -> None:
        """Until somebody ends it; what is being written is written to its end."""
        ended = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            ended.set()

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            sync.look()
            self.say(f"Watching {sync.folder}. Press Ctrl-C to stop.")
            while not ended.wait(SECONDS):
                sync.look()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _summary(sync: Sync) -> dict[str, object]:
    done = sync.done
    return {
        "directory": str(sync.folder),
        "new": done.new,
        "followed": done.followed,
        "refused": [{"directory": folder, "message": why} for folder, why in sync.refused.items()],
        "pending": sync.pending(),
        "written": done.written,
        "too_late": [{"request_id": name, "message": why} for name, why in done.too_late.items()],
        "waiting": sync.waiting(),
    }


def _text(sync: Sync) -> str:
    pending, written = len(sync.pending()), len(sync.done.written)
    return f"{number_of(pending, 'open request')}, {number_of(written, 'answer')} written"
