"""Asks a person at the terminal, until they or somebody elsewhere has answered."""

import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.terminal import card
from runs.domain.values.errors import InvalidAnswer, Refused
from runs.domain.values.questions import resolve
from runs.domain.values.status import RequestStatus
from runs.terminal.layout import clean, one_line

LOOK_SECONDS = 0.5  # how soon an answer from elsewhere ends the prompt
PASTE_SECONDS = 0.05  # lines that follow each other faster were not typed
LONGEST_LINE = 1 << 16


class OvertakenError(Exception):
    """Somebody elsewhere was faster."""


class Keyboard:
    """Standard input, read without ever being stuck on it."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._typed = b""

    def forget(self) -> None:
        """Drop what was typed before a question could be read: it cannot be its answer."""
        self._typed = b""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def line(self, is_over: Callable[[], bool]) -> str:
        while b"\n" not in self._typed:
            if self._ready(LOOK_SECONDS):
                self._read()
            elif is_over():
                raise OvertakenError
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    def text(self, is_over: Callable[[], bool]) -> str:
        """A line, and with it what was pasted together with it."""
        lines = [self.line(is_over)]
        while b"\n" in self._typed or self._ready(PASTE_SECONDS):
            lines.append(self.line(is_over))
        return "\n".join(lines).strip()

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._fd], [], [], seconds)[0])

    def _read(self) -> None:
        chunk = os.read(self._fd, LONGEST_LINE)
        if not chunk:
            raise EOFError
        self._typed += chunk


class Prompter:
    """Puts one request after another; answers go to `respond`: request, answer, comment."""

    def __init__(self, respond: Callable[[FeedbackRequest, str, str], FeedbackResponse]) -> None:
        self._respond = respond
        self._keyboard = Keyboard()

    def ask(self, request: FeedbackRequest) -> bool:
        """Whether the request is decided now; otherwise the run is left waiting."""
        try:
            self._keyboard.forget()
            _write(f"\n{_emphasised(card.inline(request))}\n\n")
            FeedbackRequest.objects.filter(pk=request.pk).update(shown_on_cli=True)
            return self._answered(request)
        except OvertakenError:
            _write(f"\n{_news_of(request)}\n\n")
            return True
        except (KeyboardInterrupt, EOFError):
            _write("\n\n")
            # Ctrl-C may have come too late, after the answer was given.
            return not _is_open(request)

    def _answered(self, request: FeedbackRequest) -> bool:
        while True:
            try:
                response = self._respond(request, *self._read(request))
            except InvalidAnswer as error:
                _write(f"{clean(error)}\n\n")
            except Refused as error:
                _write(f"{clean(error)}\n\n")
                return not _is_open(request)
            else:
                _write(f"{_receipt(request, response)}\n\n")
                return response.decides

    def _read(self, request: FeedbackRequest) -> tuple[str, str]:
        def is_over() -> bool:
            return not _is_open(request)

        if request.feedback_type.takes_text:
            _write("Your answer: ")
            return self._keyboard.text(is_over), ""
        _write("Your choice: ")
        answer = self._keyboard.line(is_over)
        if not resolve(request.feedback_type, request.choices, answer).needs_words:
            return answer, ""
        _write("What should change? ")
        return answer, self._keyboard.text(is_over)


def _is_open(request: FeedbackRequest) -> bool:
    pending = RequestStatus.PENDING
    return FeedbackRequest.objects.filter(pk=request.pk, status=pending).exists()


def _news_of(request: FeedbackRequest) -> str:
    current = FeedbackRequest.objects.get(pk=request.pk)
    decision = current.decision
    if decision is None:
        return f"The request was {current.status} elsewhere."
    said = f": {one_line(decision.comment)}" if decision.comment else ""
    who, chosen = one_line(decision.who), one_line(decision.response)
    return f"{who} answered {chosen} ({decision.source}){said}"


def _receipt(request: FeedbackRequest, response: FeedbackResponse) -> str:
    if response.decides:
        return f"✓ {one_line(response.response)}"
    alike = request.responses.filter(response=response.response).count()
    return f"✓ {response.response}: {alike} of {request.quorum} needed; it waits for somebody else."


def _emphasised(text: str) -> str:
    """The title and the rule stand out on a screen; the words stay as they are."""
    if not sys.stderr.isatty():
        return text
    title, rule, rest = text.split("\n", 2)
    return f"\x1b[1m{title}\x1b[0m\n\x1b[2m{rule}\x1b[0m\n{rest}"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
