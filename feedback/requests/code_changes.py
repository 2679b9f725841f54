"""The code changes that a request shows, for programs and people."""

from collections.abc import Iterator, Mapping, Sequence

from feedback.models import FeedbackRequest
from runs.changes import store
from runs.changes.values import ChangedFile, Changes, FileContent, FileStatus, Since
from runs.domain.values.errors import NotFound
from runs.domain.values.numbers import number_of
from runs.models import CodeSnapshot, Run

Json = dict[str, object]

COUNTS = ("base", "head", "files", "additions", "deletions", "commits")


class NoChanges(NotFound):
    """There are no code changes: the run's workspace is in no git repository."""

    code = "no_changes"


def shown_with(run: Run, request_id: str = "") -> FeedbackRequest:
    """The request whose changes are wanted: the one that is named, else the newest."""
    requests = run.requests.select_related("snapshot").order_by("-pk")
    if request_id:
        requests = requests.filter(request_id=request_id)
    found = requests.first()
    if found is None and request_id:
        raise NotFound(f"The run {run.run_id} has no request {request_id}.")
    if found is None:
        raise NoChanges(f"The run {run.run_id} has no requests yet, so there are no changes.")
    return found


def snapshot_of(request: FeedbackRequest) -> CodeSnapshot:
    if request.snapshot is None:
        note = request.background.changes_note
        raise NoChanges(note or f"The request {request.request_id} shows no code changes.")
    return request.snapshot


def changes_of(request: FeedbackRequest, since: Since) -> Changes:
    return store.load(snapshot_of(request), since)


def total_of(kept: CodeSnapshot) -> str:
    """`3 files changed, +41 −7, 1 commit`."""
    changed = f"{number_of(kept.files, 'file')} changed, +{kept.additions} −{kept.deletions}"
    return f"{changed}, {number_of(kept.commits, 'commit')}" if kept.commits else changed


def measure_of(file: ChangedFile) -> str:
    """`+3 −1`, and what else must be known of the file."""
    if file.binary:
        return f"binary, {file.status.label}"
    counted = f"+{file.additions} −{file.deletions}"
    return counted if file.status is FileStatus.MODIFIED else f"{counted}, {file.status.label}"


def counts_of(requests: Sequence[FeedbackRequest]) -> Mapping[int, Json]:
    """How much each request shows, by its key; without reading what that is."""
    named = {request.snapshot_id: request.pk for request in requests if request.snapshot_id}
    rows = CodeSnapshot.objects.filter(pk__in=named).values("pk", *COUNTS) if named else ()
    return {named[row["pk"]]: {name: row[name] for name in COUNTS} for row in rows}


def changes_shape(request: FeedbackRequest, changes: Changes) -> Json:
    contents = store.contents_of(changes.listing.files)
    return {
        "request_id": request.request_id,
        "base": changes.base,
        "head": changes.head,
        "since": changes.since.value,
        "files": [_file_shape(file, contents) for file in changes.listing.files],
        "commits": [
            {"sha": each.sha, "subject": each.subject, "author": each.author, "at": each.at}
            for each in changes.commits
        ],
        "truncated": changes.listing.truncated,
    }


def _file_shape(file: ChangedFile, contents: Mapping[str, FileContent]) -> Json:
    patch = contents.get(file.part, FileContent()).patch
    return {
        "path": file.path,
        "old_path": file.old_path,
        "status": file.status.value,
        "additions": file.additions,
        "deletions": file.deletions,
        "binary": file.binary,
        "truncated": file.truncated,
        "patch": None if patch is None else patch.decode(errors="replace"),
    }


def patches_of(changes: Changes) -> Iterator[bytes]:
    """What `git apply` takes, file by file."""
    contents = store.contents_of(changes.listing.files)
    for file in changes.listing.files:
        if patch := contents.get(file.part, FileContent()).patch:
            yield patch
