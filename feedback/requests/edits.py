"""Edits that come with an approval: of which files, kept as revisions, told to the next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.values.errors import InvalidAnswer
from runs.domain.values.events import Entry
from runs.domain.values.questions import Choice, approves
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.models import Artifact, Run


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


def editable(request: FeedbackRequest) -> dict[str, Artifact]:
    """The files an approval of this request may edit, by their path."""
    return {artifact.path: artifact for artifact in request.artifacts.all() if artifact.is_text}


def checked(request: FeedbackRequest, choice: Choice, given: Sequence[Edit]) -> list[Edit]:
    """The edits that change something; refused when they cannot come with this answer."""
    if not given:
        return []
    if not approves(choice.response):
        raise InvalidAnswer(f"Edits come with approve; {choice.response} takes comments instead.")
    if request.quorum > 1:
        raise InvalidAnswer("Edits need a request that one person decides; this one needs more.")
    files = editable(request)
    paths = [edit.path for edit in given]
    for edit in given:
        if edit.path not in files:
            known = ", ".join(sorted(files)) or "none"
            raise InvalidAnswer(f"{edit.path} cannot be edited here. Files to edit: {known}.")
        if paths.count(edit.path) > 1:
            raise InvalidAnswer(f"{edit.path} is edited twice.")
        if len(edit.data) > artifacts.LARGEST or "\0" in edit.content:
            raise InvalidAnswer(f"{edit.path} must stay text of at most 5 MB.")
    return [edit for edit in given if edit.data != bytes(files[edit.path].content)]


def keep(run: Run, request: FeedbackRequest, response: FeedbackResponse) -> KeptEdits:
    """Make each edit the file's newest revision; the caller holds the run's lock."""
    if not response.edits or run.unit is None:
        return KeptEdits()
    files = [
        FoundFile(path=edit["path"], content=edit["content"].encode()) for edit in response.edits
    ]
    events = artifacts.keep_changed(run, run.unit, files)
    shown = editable(request)
    newest = [run.revisions.filter(path=file.path).latest("revision") for file in files]
    told = [
        {"path": own.path, "revision": own.revision, "shown": shown[own.path].revision}
        for own in newest
    ]
    return KeptEdits(told=told, events=events)
