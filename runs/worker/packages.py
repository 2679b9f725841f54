"""What each step of a job is told: gathered, kept, and ahead of the step where possible."""

from collections.abc import Callable
from typing import NamedTuple

from runs import context
from runs.context import store
from runs.domain.workflow import commands
from runs.domain.workflow.placeholders import fill_arguments
from runs.engine import Claim, new_run
from runs.models import StepAttempt
from runs.record.state_json import Records
from runs.worker import placing

Json = dict[str, object]


class _Ahead(NamedTuple):
    """A package whose step was not begun when it was gathered."""

    attempt: StepAttempt
    known: Records
    package: Json
    kept: store.KeptPackage

    def is_of(self, claim: Claim) -> bool:
        # Whoever did not hear of a commit has read the attempt again, and then knows no events.
        is_read = claim.new_events is None and claim.attempt.pk == self.attempt.pk
        return claim.attempt is self.attempt or is_read


class Packages:
    """The context packages of one job, which knows from step to step what it read."""

    def __init__(self) -> None:
        self._memory = context.Memory()
        self._ahead: _Ahead | None = None
        self._kept: store.KeptPackage | None = None  # of the step before

    def package_of(self, claim: Claim) -> Json:
        ahead = self._ahead
        if ahead and ahead.is_of(claim):
            self._memory.note(ahead.known)
            self._kept = ahead.kept
            return ahead.package
        package = self._gathered(claim, self._memory.records(claim.run, claim.new_events))
        kept = store.prepared(claim.attempt, package, self._kept)
        store.keep(kept, claim.attempt)
        self._kept = kept
        return package

    def ahead(self, claim: Claim) -> Callable[[], None] | None:
        """Gather what the next step is told before it is handed out, if that takes no look.

        What is returned keeps it, in the transaction that hands the step out.
        """
        known = self._memory.continued(claim.run, claim.new_events)
        if known is None or not self._can_be_told(claim):
            return None
        package, attempt = self._gathered(claim, known), claim.attempt
        kept = store.prepared(attempt, package, self._kept)
        self._ahead = _Ahead(attempt, known, package, kept)
        return lambda: store.keep(kept, attempt)

    def _can_be_told(self, claim: Claim) -> bool:
        if claim.unit.document or claim.attempt.handed_in or claim.run.worktree_of:
            return False
        is_known = context.needs_no_look(claim.run, self._memory)
        return is_known and placing.is_surely_here(claim) and not unfit(claim)

    def _gathered(self, claim: Claim, known: Records) -> Json:
        return context.reconstitute(known, attempt=claim.attempt, memory=self._memory)


def unfit(claim: Claim) -> tuple[str, ...]:
    """Why the step cannot be executed with what is known."""
    step, known = claim.unit.step, known_to(claim)
    _, missing = fill_arguments(step.arguments, known)
    words = (why for argv in step.commands for why in commands.refused(argv, known))
    return (*missing, *(f"{{{name}}}: {why}." for name, why in words))


def known_to(claim: Claim, made: Json | None = None) -> Json:
    """The names that placeholders may use."""
    return new_run.known_to(claim.run, claim.unit, claim.attempt.number, made)
