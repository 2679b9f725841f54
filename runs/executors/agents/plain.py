"""Any command that reads a prompt and prints an answer; it remembers nothing."""

from collections.abc import Mapping, Sequence

from runs.domain.responses.results import Result
from runs.executors.agents import claude
from runs.executors.agents.adapters import Call, Counted, Said
from runs.executors.orders import Outcome
from runs.executors.printed_response import agent_answer


class Plain:
    environment: Mapping[str, str] = {}

    def takes_sessions(self, command: Sequence[str]) -> bool:
        return False

    def names_sessions(self, command: Sequence[str]) -> bool:
        return False

    def argv(self, command: Sequence[str], call: Call) -> tuple[str, ...]:
        return tuple(command)

    def answer(self, printed: str, *, step: str) -> Result:
        return agent_answer(printed, step=step)

    def words(self, printed: str) -> str | Result:
        return printed.strip()

    def said(self, printed: str, counted: Counted) -> Said:
        """A program around Claude Code prints what that did; which session it was is its own."""
        told = claude.used(printed, counted)
        return Said(usage=told) if told else Said()

    def refuses_session(self, outcome: Outcome) -> bool:
        return False
