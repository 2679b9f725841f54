"""Earlier rounds of the same question: what was asked for, and what became of each item."""

from collections.abc import Sequence
from dataclasses import dataclass

from feedback.desk.files import difference_between
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import ledger
from runs.domain.values.differences import Hunk
from runs.domain.values.questions import Action
from runs.models import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """An item of the last review, its disposition, and the changes that answer it."""

    line: ledger.ItemLine
    hunks: Sequence[Hunk]
    is_elsewhere: bool  # the file it is about is not part of this round

    @property
    def outcome(self) -> str:
        return self.line.disposition.outcome.value if self.line.disposition else "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One earlier request about the same step, with its answer."""

    number: int
    asked: FeedbackRequest
    answer: FeedbackResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    earlier: Sequence[Round]
    ledger: Sequence[LedgerLine]

    @property
    def number(self) -> int:
        return len(self.earlier) + 1

    @property
    def unanswered(self) -> int:
        return sum(1 for line in self.ledger if line.line.disposition is None)


def rounds_of(asked: FeedbackRequest) -> Rounds:
    before = FeedbackRequest.objects.filter(
        run_id=asked.run_id, phase=asked.phase, step=asked.step, gate=asked.gate, pk__lt=asked.pk
    )
    found = before.prefetch_related("responses").order_by("pk").defer("context")
    earlier = [
        Round(number=number, asked=request, answer=answer)
        for number, request in enumerate(found, start=1)
        if (answer := request.decision)
    ]
    return Rounds(earlier=earlier, ledger=_ledger(asked, earlier[-1] if earlier else None))


def _ledger(asked: FeedbackRequest, last: Round | None) -> list[LedgerLine]:
    if last is None or last.answer.action != Action.REVISE.value or not last.answer.items:
        return []
    response = asked.attempt.response if asked.attempt else None
    details = (response or {}).get("details")
    files = {artifact.path: artifact for artifact in asked.artifacts.all()}
    return [
        _line(asked, line, files)
        for line in ledger.balance(last.answer.items, details if isinstance(details, dict) else {})
    ]


def _line(asked: FeedbackRequest, line: ledger.ItemLine, files: dict[str, Artifact]) -> LedgerLine:
    new = files.get(str(line.item.get("path", "")))
    first, last = _lines(line)
    if new is None or not first:
        return LedgerLine(line=line, hunks=(), is_elsewhere=True)
    revision = str(line.item.get("revision") or new.revision - 1)
    old = asked.run.revisions.filter(path=new.path, revision=revision).first()
    hunks = difference_between(old, new).hunks_for(first, last) if old else ()
    return LedgerLine(line=line, hunks=hunks, is_elsewhere=False)


def _lines(line: ledger.ItemLine) -> tuple[int, int]:
    first, last = line.item.get("line"), line.item.get("end_line")
    if not isinstance(first, int):
        return 0, 0
    return first, last if isinstance(last, int) else first
