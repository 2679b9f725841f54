"""What people decide on: whether it is still what was shown, and asking again if not."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db.models import Max

from runs.changes.values import Looked
from runs.domain.planning import asked_again, planner
from runs.domain.planning.asked_again import FileChange
from runs.domain.planning.planner import Decision
from runs.domain.values.background import FileProblem
from runs.domain.values.events import Entry
from runs.domain.values.questions import Question
from runs.engine.change import Change
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.models import Run, StepAttempt
from runs.workspaces import digests


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file as a request shows it; without a revision there was nothing to show."""

    path: str
    revision: int | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDifference:
    shown: ShownFile
    now: FoundFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """All that is not what was shown."""

    files: Sequence[FileDifference] = ()
    code: Looked | None = None  # as it is now

    def __bool__(self) -> bool:
        return bool(self.files or self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBefore:
    """A request whose answer does not count, as it is asked again."""

    request_id: str
    question: Question
    gate_key: str
    after: StepAttempt | None
    gone: Collection[str]  # files that were not there already
    by_policy: bool = False


def differences(folder: Path, shown: Iterable[ShownFile]) -> list[FileDifference]:
    """Compare files with what was shown; what was compared a moment ago is not read again."""
    root = folder.resolve()
    return [found for file in shown if (found := _difference(root, file))]


def ask_again(run: Run, asked: AskedBefore, found: Differences, events: Sequence[Entry]) -> None:
    """Keep what is there now and ask about that; the caller holds the run's lock."""
    change = Change(run)
    change.last, change.looked = asked.after, found.code
    change.record(*events)
    if change.holds_plan():
        change.record(*artifacts.keep_changed(run, change.here, (each.now for each in found.files)))
        change.gone = _gone(asked, found.files)
        question = asked_again.ask_again(
            asked.question,
            after=asked.request_id,
            changes=_changes(run, found.files),
            gone=change.gone,
            code=found.code.taken.head if found.code and found.code.taken else "",
        )
        move = planner.Ask(run.position, question, asked.gate_key, asked.by_policy)
        change.apply(Decision(move=move))
    change.write()


def _difference(root: Path, shown: ShownFile) -> FileDifference | None:
    file = root / shown.path
    try:
        # A link in its place would have another file compared, or one from elsewhere kept.
        if file.resolve() != file:
            now = FoundFile(path=shown.path, content=None, note="is behind a link now")
            return FileDifference(shown=shown, now=now) if shown.revision else None
        if digests.sha256_of(file, most=artifacts.LARGEST) == shown.sha256:
            return None
    except (OSError, ValueError, RuntimeError):
        pass  # why it cannot be read is told below
    now = artifacts.read_file(file, shown.path)
    # It may have become what was shown in between.
    return None if _is(shown, now) else FileDifference(shown=shown, now=now)


def _is(shown: ShownFile, now: FoundFile) -> bool:
    if now.content is None:
        return shown.revision is None
    return hashlib.sha256(now.content).hexdigest() == shown.sha256


def _gone(asked: AskedBefore, found: Sequence[FileDifference]) -> list[str]:
    back = {each.shown.path for each in found if each.now.content is not None}
    gone = {each.shown.path for each in found if each.now.content is None}
    return sorted(gone | (set(asked.gone) - back))


def _changes(run: Run, found: Sequence[FileDifference]) -> list[FileChange]:
    paths = [each.shown.path for each in found]
    newest = run.revisions.filter(path__in=paths).order_by().values_list("path")
    revisions: dict[str, int] = dict(newest.annotate(Max("revision")))
    return [
        FileChange(
            path=each.shown.path,
            shown=each.shown.revision,
            now=None if each.now.content is None else revisions[each.shown.path],
            why=_why(each.now),
        )
        for each in found
    ]


def _why(now: FoundFile) -> str:
    if now.content is not None:
        return ""
    return "was deleted" if now.problem is FileProblem.MISSING else now.note
