"""Stays with a run until it stops: executes its steps here, asks here, or follows it elsewhere."""

import sys
import time
from collections.abc import Callable

from django.db import transaction

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import answers, shown
from feedback.requests.answers import Words
from feedback.terminal import inquiry
from feedback.terminal.card import where_to_answer
from feedback.terminal.prompt import Answer, Prompter
from runs import engine
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError
from runs.domain.values.status import RequestStatus, RunStatus
from runs.engine import Claim, recovery, turns
from runs.jobs import heartbeat
from runs.models import Event, Run, StepAttempt
from runs.record import run_json, state_json
from runs.terminal.console import AWAITING, INTERRUPTED, Reply, exit_code_of
from runs.terminal.layout import run_line
from runs.terminal.watching import view_for
from runs.worker import advance, placing, settling
from runs.worker.lookout import Lookout

LOOK_SECONDS = 0.5


class Attendant:
    """Somebody at a terminal, for one run."""

    def __init__(self, actor: Actor, say: Callable[[str], None], *, prompts: bool) -> None:
        self.worker = advance.worker_name()
        self._actor = actor
        self._view = view_for(say)
        can_ask = prompts and sys.stdin is not None and sys.stdin.isatty()
        self._prompter = Prompter(self.answer, self.inquire) if can_ask else None
        self._claim: Claim | None = None
        self._lookout = Lookout()

    # In one transaction with the claim: otherwise a worker could take the step in between.

    def answer(self, request: FeedbackRequest, answer: Answer, comment: str) -> FeedbackResponse:
        """Record an answer, and keep the step it leads to here."""
        with shown.compared(request.request_id) as seen, transaction.atomic():
            response = answers.respond(
                request.request_id,
                answer,
                actor=self._actor,
                words=Words(comment=comment),
                seal=request.seal,
                seen=seen,
            )
            self._claim = engine.claim(request.run_id, self.worker)
        return response

    def inquire(self, request: FeedbackRequest, question: str) -> str:
        """What the agent says to a question; why it says nothing is told the same way."""
        try:
            said = inquiry.ask(request.request_id, question, actor=self._actor, say=self._view.say)
        except FaberError as error:
            return str(error)
        return said.answer

    def resume(self, run: Run) -> None:
        """Send a stopped run on, and keep its step here."""
        settling.settle_kept()  # a terminal that was closed may have left its last result
        with transaction.atomic():
            engine.resume_stopped(run.pk, self._actor)
            self._claim = engine.claim(run.pk, self.worker)

    def attend(self, run: Run, claim: Claim | None = None) -> Reply:
        """Stay with the run; the reply is what became of it."""
        self._claim = claim or self._claim
        self._view.say(f"{run.run_id}\n{state_json.run_url(run)}")
        code = self._stay(run)
        shape = run_json.run_shape(run)
        return Reply(document=shape, text=run_line(shape), exit_code=code)

    def _stay(self, run: Run) -> int:
        try:
            while True:
                claim, self._claim = self._claim, None
                advance.drive(claim, self._view)
                run.refresh_from_db()
                if run.state is RunStatus.AWAITING_FEEDBACK:
                    if not self._is_decided(run):
                        return AWAITING
                elif run.state.is_stopped:
                    return exit_code_of(run.state)
                else:
                    self._claim = self._follow(run)
        except KeyboardInterrupt:
            self._view.close()
            self._let_go(run)
            return INTERRUPTED
        finally:
            self._view.close()

    def _is_decided(self, run: Run) -> bool:
        request = run.requests.filter(status=RequestStatus.PENDING).first()
        if request is None:  # decided, and about to take effect
            if not answers.catch_up(run.pk):
                time.sleep(LOOK_SECONDS)
            return True
        if self._prompter and self._prompter.ask(request):
            return True
        self._view.say(where_to_answer(request))
        return False

    def _follow(self, run: Run) -> Claim | None:
        """Watch a run that somebody else has, until it stops or its step is free."""
        seen, is_told, reason = run.last_event_id, False, ""
        while True:
            reason = self._wait_for_turn(run, reason)
            attempt = state_json.open_attempt(run)
            if attempt and self._is_free(attempt) and (claim := engine.claim(run.pk, self.worker)):
                return claim
            if attempt and not is_told and (other := _who_else(attempt)):
                self._view.say(f"{attempt.key} is waiting for {other}.")
                is_told = True
            run.refresh_from_db()
            seen = self._show_news(run, seen)
            if run.state.is_stopped:
                return None
            time.sleep(LOOK_SECONDS)

    def _is_free(self, attempt: StepAttempt) -> bool:
        if attempt.is_remote or not placing.is_for_us(attempt):
            return False
        for lost in self._lookout.lost(attempt.run_id):
            engine.bring_back(lost.run_pk, seen=lost.lease_until)
            return True
        return attempt.status == StepAttempt.Status.QUEUED

    def _wait_for_turn(self, run: Run, told: str) -> str:
        """Tell whom the run waits for, whenever that changes; where no worker is, let it begin."""
        reason = str(turns.wait_of(run) or "")
        if reason:
            turns.give(run.project_id)
            if reason != told:
                self._view.say(reason)
        return reason

    def _show_news(self, run: Run, seen: int) -> int:
        for event in Event.objects.filter(run=run, number__gt=seen).order_by("number"):
            self._view.event(event.document)
            seen = event.number
        return seen

    def _let_go(self, run: Run) -> None:
        resume = f"`faber resume {run.short_id}`"
        run.refresh_from_db()
        if run.state is RunStatus.PENDING:
            self._view.say(f"The run stays queued. Follow it with {resume}.")
        elif not recovery.release(self.worker):
            self._view.say(f"The run continues without this terminal. Follow it with {resume}.")
        elif heartbeat.worker_is_alive():
            self._view.say("Step stopped. A worker will rerun it.")
        else:
            self._view.say(f"Step stopped. Rerun it with {resume}.")


def _who_else(attempt: StepAttempt) -> str:
    """Who has to execute a step that cannot be executed here."""
    if attempt.is_remote:
        return "a remote executor"
    return "" if placing.is_for_us(attempt) else f"{attempt.host}, which has the run's folder"
