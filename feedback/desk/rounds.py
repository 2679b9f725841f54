"""Earlier rounds of the same question: what was asked for, and what became of each item."""

from collections.abc import Sequence
from dataclasses import dataclass

from feedback.desk.files import difference_between
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import ledger
from runs.changes import store
from runs.changes.values import FileContent, Since
from runs.domain.values.differences import Hunk, compare
from runs.domain.values.questions import Action, ItemKind
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
    def must_unanswered(self) -> int:
        """What must change, and the revision says nothing about."""
        return sum(
            1
            for line in self.ledger
            if line.line.disposition is None and line.line.item.get("kind") == ItemKind.MUST
        )

    @property
    def are_about_code(self) -> bool:
        """Whether all that was commented on last is in the code changes."""
        return bool(self.ledger) and all(line.line.item.get("side") for line in self.ledger)

    @property
    def unanswered(self) -> int:
        return sum(1 for line in self.ledger if line.line.disposition is None)


def rounds_of(asked: FeedbackRequest) -> Rounds:
    before = FeedbackRequest.objects.filter(
        run_id=asked.run_id, phase=asked.phase, step=asked.step, gate=asked.gate, pk__lt=asked.pk
    )
    found = before.prefetch_related("responses").order_by("pk").defer("context")
    earlier = [
        Round(number=request.round, asked=request, answer=answer)
        for request in found
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
    if line.item.get("side"):
        return _code_line(asked, line)
    new = files.get(str(line.item.get("path", "")))
    first, last = _lines(line)
    if new is None or not first:
        return LedgerLine(line=line, hunks=(), is_elsewhere=True)
    revision = str(line.item.get("revision") or new.revision - 1)
    old = asked.run.revisions.filter(path=new.path, revision=revision).first()
    hunks = difference_between(old, new).hunks_for(first, last) if old else ()
    return LedgerLine(line=line, hunks=hunks, is_elsewhere=False)


def _code_line(asked: FeedbackRequest, line: ledger.ItemLine) -> LedgerLine:
    """A comment on the code the round before showed; what it stood on may be as it was."""
    first, last = _lines(line)
    is_new = line.item["side"] == "new"
    if asked.snapshot is None or asked.snapshot.previous_id is None or not first or not is_new:
        return LedgerLine(line=line, hunks=(), is_elsewhere=True)
    grown = store.load(asked.snapshot, Since.ROUND).listing.files
    file = next((f for f in grown if line.item.get("path") in (f.old_path or f.path, f.path)), None)
    content = store.content_of(file) if file else FileContent()
    if content.old is None or content.new is None:
        return LedgerLine(line=line, hunks=(), is_elsewhere=file is not None)
    old, new = content.old.decode(errors="replace"), content.new.decode(errors="replace")
    hunks = compare(old, new).hunks_for(first, last)
    return LedgerLine(line=line, hunks=hunks, is_elsewhere=False)


def _lines(line: ledger.ItemLine) -> tuple[int, int]:
    first, last = line.item.get("line"), line.item.get("end_line")
    if not isinstance(first, int):
        return 0, 0
    return first, last if isinstance(last, int) else first
