"""Edits that come with an approval: of which files, kept as revisions, told to the next step."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.changes import store
from runs.changes.values import FileContent
from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.events import Entry
from runs.domain.values.questions import Choice, approves
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.models import Run
from runs.workspaces import edited


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A file as its approver wants it."""

    path: str
    content: str

    @property
    def data(self) -> bytes:
        return self.content.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEdits:
    """Edits as revisions: where they are told, and the events that tell of them."""

    told: Sequence[Mapping[str, object]] = ()
    events: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable:
    """A file of a request as it was shown: an artifact's revision, or one side of a code change."""

    path: str
    content: bytes
    is_code: bool = False

    @property
    def lines(self) -> list[str]:
        """As they were counted when they were shown, each with its end."""
        text = self.content.decode(errors="replace")
        return io.StringIO(text, newline="\n" if self.is_code else "").readlines()


def editable(request: FeedbackRequest, paths: Iterable[str]) -> dict[str, Editable]:
    """Those of the files that an approval of this request may edit, by their path."""
    wanted = frozenset(paths)
    shown = {
        artifact.path: Editable(path=artifact.path, content=bytes(artifact.content))
        for artifact in request.artifacts.filter(path__in=wanted)
        if artifact.is_text
    }
    return {**_changed_code(request, wanted - shown.keys()), **shown}


def _changed_code(request: FeedbackRequest, paths: frozenset[str]) -> dict[str, Editable]:
    if request.snapshot is None or not paths:
        return {}
    files = [file for file in store.load(request.snapshot).listing.files if file.path in paths]
    contents = store.contents_of(files)
    return {
        file.path: Editable(path=file.path, content=new, is_code=True)
        for file in files
        if (new := contents.get(file.part, FileContent()).new) is not None and _is_text(new)
    }


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _names(request: FeedbackRequest) -> str:
    """What can be edited, for whoever named something else."""
    names = sorted(request.artifacts.values_list("path", flat=True))
    if request.snapshot and request.snapshot.files:
        names.append("the changed files")
    return ", ".join(names) or "none"


def checked(request: FeedbackRequest, choice: Choice, given: Sequence[Edit]) -> list[Edit]:
    """The edits that change something; refused when they cannot come with this answer."""
    if not given:
        return []
    if not approves(choice.response):
        raise InvalidAnswer(
            f"Edits are only possible with approve. Use comments with {choice.response}."
        )
    if request.is_shared:
        raise InvalidAnswer("Edits are not possible on requests that need several approvals.")
    paths = [edit.path for edit in given]
    files = editable(request, paths)
    for edit in given:
        if edit.path not in files:
            raise refusal(request, edit.path)
        if paths.count(edit.path) > 1:
            raise InvalidAnswer(f"{edit.path} is edited twice.")
        if len(edit.data) > artifacts.LARGEST or "\0" in edit.content:
            raise InvalidAnswer(f"{edit.path} must stay text of at most 5 MB.")
    return [edit for edit in given if edit.data != files[edit.path].content]


def refusal(request: FeedbackRequest, path: str) -> InvalidAnswer:
    return InvalidAnswer(f"{path} can't be edited here. Editable files: {_names(request)}.")


def keep(run: Run, request: FeedbackRequest, response: FeedbackResponse) -> KeptEdits:
    """Make each edit the file's newest revision; the caller holds the run's lock."""
    if not response.edits or run.unit is None:
        return KeptEdits()
    shown = editable(request, [edit["path"] for edit in response.edits])
    code = [each for each in shown.values() if each.is_code]
    # Code that was shown is no revision yet; without it nobody could tell what was edited.
    seen = artifacts.keep_changed(run, run.unit, [_found(each.path, each.content) for each in code])
    before = {path: _newest(run, path) for path in shown}
    own = [_found(edit["path"], edit["content"].encode()) for edit in response.edits]
    events = artifacts.keep_changed(run, run.unit, own)
    told = [
        {
            "path": file.path,
            "revision": _newest(run, file.path),
            "shown": before[file.path],
            **({"of": edited.REPOSITORY} if shown[file.path].is_code else {}),
        }
        for file in own
    ]
    return KeptEdits(told=told, events=[*seen, *events])


def _found(path: str, content: bytes) -> FoundFile:
    return FoundFile(path=path, content=content)


def _newest(run: Run, path: str) -> int:
    return run.revisions.filter(path=path).latest("revision").revision
