"""Asks a person at the terminal, until they or somebody elsewhere has answered."""

import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable, Mapping

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import shown
from feedback.requests.handover import authority
from feedback.requests.inquiries.addressee import has_addressee
from feedback.terminal import card, inquiry, viewing
from runs.domain.values.errors import InvalidAnswer, Refused
from runs.domain.values.forms.filling import fill
from runs.domain.values.forms.questions import is_typed
from runs.domain.values.questions import resolve
from runs.domain.values.status import RequestStatus
from runs.terminal.layout import clean, one_line

LOOK_SECONDS = 0.5  # how soon an answer from elsewhere ends the prompt
PASTE_SECONDS = 0.05  # lines that follow each other faster were not typed
LONGEST_LINE = 1 << 16


Answer = str | Mapping[str, object]


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

    def __init__(
        self,
        respond: Callable[[FeedbackRequest, Answer, str], FeedbackResponse],
        inquire: Callable[[FeedbackRequest, str], str],
    ) -> None:
        self._respond = respond
        self._inquire = inquire
        self._keyboard = Keyboard()

    def ask(self, request: FeedbackRequest) -> bool:
        """Whether the request is decided now; otherwise the run is left waiting."""
        try:
            self._keyboard.forget()
            _write(f"\n{card.heading(request)}\n{_emphasised(card.inline(request))}\n\n")
            _write(_how_to_view(request) + _how_to_ask(request))
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
                answer, comment = self._read(request)
                if _wants_to_see(request, answer):
                    viewing.page(request)
                    continue
                if question := inquiry.question_in(request, answer):
                    _write(f"{clean(self._inquire(request, question))}\n\n")
                    continue
                response = self._respond(request, answer, comment)
            except InvalidAnswer as error:
                _write(f"{clean(error)}\n\n")
            except Refused as error:
                _write(f"{clean(error)}\n\n")
                return not _is_open(request)
            else:
                _write(f"{_receipt(request, response)}\n\n")
                return response.decides

    def _read(self, request: FeedbackRequest) -> tuple[Answer, str]:
        def is_over() -> bool:
            return not _is_open(request)

        if request.feedback_type.takes_text and is_typed(request.form):
            return self._filled_in(request, is_over), ""
        if request.feedback_type.takes_text:
            _write("Your answer: ")
            return self._keyboard.text(is_over), ""
        _write("Your choice: ")
        answer = self._keyboard.line(is_over)
        if _wants_to_see(request, answer) or inquiry.question_in(request, answer):
            return answer, ""
        if not resolve(request.feedback_type, request.choices, answer).needs_words:
            return answer, ""
        _write("What should change? ")
        return answer, self._keyboard.text(is_over)

    def _filled_in(self, request: FeedbackRequest, is_over: Callable[[], bool]) -> Answer:
        """One question after the other, each until its answer fits."""
        answers: dict[str, object] = {}
        for number, question in enumerate(request.form, start=1):
            while question.id not in answers:
                _write(f"{number}. {clean(question)}: ")
                text = self._keyboard.text(is_over)
                # An option stands for the whole form, such as going on without an answer.
                if _wants_to_see(request, text):
                    viewing.page(request)
                    continue
                if text.casefold() in {option.value.casefold() for option in request.choices}:
                    return text
                if not text and not question.required:
                    break
                if problems := fill([question], {question.id: text}).problems:
                    _write(f"It {clean(problems[0].message)}.\n")
                else:
                    answers[question.id] = text
        return answers


def _how_to_view(request: FeedbackRequest) -> str:
    return f"Type {viewing.KEY} to view the full content.\n" if viewing.is_there(request) else ""


def _how_to_ask(request: FeedbackRequest) -> str:
    return "" if request.feedback_type.takes_text or not has_addressee(request) else inquiry.HOW


def _wants_to_see(request: FeedbackRequest, answer: Answer) -> bool:
    """Whether it is the key and no answer: an option may have the same name."""
    names = {option.value.casefold() for option in request.choices}
    return answer == viewing.KEY and viewing.KEY not in names and viewing.is_there(request)


def _is_open(request: FeedbackRequest) -> bool:
    pending = RequestStatus.PENDING
    return FeedbackRequest.objects.filter(pk=request.pk, status=pending).exists()


def _news_of(request: FeedbackRequest) -> str:
    current = FeedbackRequest.objects.get(pk=request.pk)
    decision = current.decision
    if decision is None:
        return f"The request was {current.status} in another channel."
    said = f": {one_line(decision.comment)}" if decision.comment else ""
    who, chosen = one_line(decision.who), one_line(decision.response)
    return f"{who} answered {chosen} ({decision.source}){said}"


def _receipt(request: FeedbackRequest, response: FeedbackResponse) -> str:
    if response.decides:
        again = f"\n{card.AGAIN}" if shown.newer(response.request) else ""
        return f"✓ {one_line(response.response)}{again}"
    alike = list(request.responses.filter(response=response.response))
    if request.quorum_groups:
        return f"✓ {response.response}; still needed: {authority.still_needed(request, alike)}."
    approvals = f"{len(alike)} of {request.quorum} approvals"
    return f"✓ {response.response}: {approvals}; waiting for others."


def _emphasised(text: str) -> str:
    """The title and the rule stand out on a screen; the words stay as they are."""
    if not sys.stderr.isatty():
        return text
    title, rule, rest = text.split("\n", 2)
    return f"\x1b[1m{title}\x1b[0m\n\x1b[2m{rule}\x1b[0m\n{rest}"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
