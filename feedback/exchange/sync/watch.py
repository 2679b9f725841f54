"""Watches run directories of another FABER: shows what they ask, hands back what was answered."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db import OperationalError, transaction
from django.utils import timezone

from feedback.exchange.directories import read_directory, runs_below
from feedback.exchange.sync import follow, write_back
from feedback.exchange.sync.follow import DirectoryNews, Plans
from feedback.exchange.sync.locked_files import FileBusy
from feedback.exchange.sync.write_back import TooLate
from feedback.models import FeedbackRequest, FeedbackResponse, WriteBack
from feedback.requests import answers
from runs.domain.values.errors import FaberError, Invalid
from runs.domain.values.status import RequestStatus
from runs.models import Run
from runs.terminal.layout import one_line

# A directory that makes no sense may be in the middle of a change: so often it is read again
# before somebody is told.
TRIES = 3

Mark = tuple[object, ...]
_WATCHED = ("state.json", "metadata.json", "events", "events/.next-id")


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What was last seen of one directory."""

    mark: Mark = ()
    shown: Sequence[Path] = ()  # files its reviewers read
    tries: int = 0
    refusal: str = ""


@dataclass(slots=True, kw_only=True)
class Done:
    """What came of it so far, for whoever asked for it."""

    new: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)  # request ids
    too_late: dict[str, str] = field(default_factory=dict)


class Sync:
    """One look after another at the runs below a folder."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.done = Done()
        self._say = say
        self._seen: dict[Path, _Seen] = {}
        self._known = follow.standings()
        self._plans = Plans()

    def look(self) -> bool:
        """Read what changed and write what is due; True when nothing is left in between."""
        folders, self._plans = runs_below(self.folder), Plans()
        for gone in self._seen.keys() - folders.keys():
            del self._seen[gone]
        try:
            for folder, place in folders.items():
                self._read(folder, place)
            self._take_effect()
            self._write_back(folders)
        except OperationalError as error:  # the database is busy or away
            self._say(f"The database is unreachable: {str(error).strip()}. Retrying.")
            return False
        return not any(seen.tries for seen in self._seen.values())

    @property
    def refused(self) -> dict[str, str]:
        return {str(folder): seen.refusal for folder, seen in self._seen.items() if seen.refusal}

    def pending(self) -> list[str]:
        asked = FeedbackRequest.objects.filter(
            run__mirrors__in=self._names(), status=RequestStatus.PENDING
        )
        return list(asked.order_by("requested_at").values_list("request_id", flat=True))

    def waiting(self) -> list[str]:
        """Requests whose answer is not in its directory yet."""
        return [row.response.request.request_id for row in self._due()]

    def _names(self) -> list[str]:
        return [str(folder) for folder in self._seen]

    def _read(self, folder: Path, place: str) -> None:
        seen = self._seen.setdefault(folder, _Seen())
        mark = _mark(folder, seen.shown)
        if mark == seen.mark:
            return
        if not seen.mark and follow.is_as_known(folder, self._known.pop(str(folder), None)):
            seen.mark = mark
            return
        try:
            found = read_directory(folder, place=place)
            if mark != _mark(folder, seen.shown):
                raise Invalid([])  # it changed while it was read
            news = follow.follow(found, self._plans)
        except FaberError as error:
            self._refuse(folder, seen, mark, str(error))
            return
        if seen.refusal:
            self._say(f"{folder} is readable again.")
        if news is not DirectoryNews.NONE:
            self._tell(found.state.run_id, is_new=news is DirectoryNews.NEW)
        shown = follow.files_shown(found, follow.work_tree_of(folder))
        seen.shown, seen.tries, seen.refusal = shown, 0, ""
        seen.mark = _mark(folder, shown) if shown else mark

    def _refuse(self, folder: Path, seen: _Seen, mark: Mark, why: str) -> None:
        seen.tries += 1
        if seen.tries < TRIES:
            return
        seen.tries, seen.mark = 0, mark  # until something changes there
        why = why or "it keeps changing"
        if why != seen.refusal:
            self._say(f"{folder} is not shown: {why}")
        seen.refusal = why

    def _tell(self, run_id: str, *, is_new: bool) -> None:
        (self.done.new if is_new else self.done.followed).append(run_id)
        asked = FeedbackRequest.objects.filter(run__run_id=run_id, status=RequestStatus.PENDING)
        if request := asked.only("request_id", "prompt").first():
            self._say(f"{run_id} asks {request.request_id}: {one_line(request.prompt, 80)}")
        else:
            run = Run.objects.only("status").get(run_id=run_id)
            self._say(f"{run_id} is {run.state.label}")

    def _take_effect(self) -> None:
        """End undo times without a worker: whoever only syncs may have none."""
        held = FeedbackResponse.objects.filter(
            state=FeedbackResponse.State.HELD, held_until__lte=timezone.now()
        ).exclude(request__run__mirrors="")
        for response in held.select_related("request"):
            answers.catch_up(response.request.run_id)

    def _due(self) -> list[WriteBack]:
        due = WriteBack.objects.filter(is_due=True).select_related("response__request__run")
        below = f"{self.folder}{os.sep}"
        return [
            row
            for row in due.order_by("pk")
            if f"{row.response.request.run.mirrors}{os.sep}".startswith(below)
        ]

    def _write_back(self, folders: Mapping[Path, str]) -> None:
        for row in self._due():
            request_id = row.response.request.request_id
            try:
                write_back.write(row)
            except TooLate as late:
                self._too_late(row, str(late))
            except (FileBusy, FaberError, OSError) as error:
                self._put_off(row, str(error))
                continue
            else:
                WriteBack.objects.filter(pk=row.pk).update(
                    is_due=False, written_at=timezone.now(), last_error=""
                )
                self.done.written.append(request_id)
                self._say(f"{request_id}: {row.response} is in {row.response.request.run.mirrors}")
            # At once: what was just written is what the run's page shows.
            folder = Path(row.response.request.run.mirrors)
            self._read(folder, folders.get(folder, ""))

    def _too_late(self, row: WriteBack, why: str) -> None:
        request_id = row.response.request.request_id
        with transaction.atomic():
            follow.overtake(row.response, why)
        self.done.too_late[request_id] = why
        self._say(f"{request_id}: {row.response} came too late; {why}.")

    def _put_off(self, row: WriteBack, why: str) -> None:
        if row.last_error != why:
            WriteBack.objects.filter(pk=row.pk).update(last_error=why[:1000])
            self._say(f"{row.response.request.request_id} can't be written yet: {why}")


def _mark(folder: Path, shown: Sequence[Path]) -> Mark:
    """By what a change is noticed: cheap enough for hundreds of directories every second."""
    base = str(folder)
    files = (f"{base}/{name}" for name in _WATCHED)
    return tuple(_stat(file) for file in (*files, *map(str, shown)))


def _stat(file: str) -> Mark:
    try:
        found = os.lstat(file)
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_size, found.st_ino)
