"""Keeps a run that another FABER executes as its directory tells it."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path

from django.utils import timezone

from feedback.exchange import importing
from feedback.exchange.directories import BASES, Directory, hash_of, read_object
from feedback.exchange.importing import keep_answer, keep_events, keep_request, storing
from feedback.exchange.past_requests import Request
from feedback.exchange.plain_files import names_in
from feedback.exchange.standing import RunStanding, retell
from feedback.models import FeedbackRequest, FeedbackResponse, WriteBack
from feedback.requests import recorded
from feedback.requests.request_json import option_shape
from feedback.requests.seal import seal_of
from runs.domain.values.errors import FaberError, Invalid, Refused
from runs.domain.values.status import RequestStatus, RunStatus
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.plan import Plan
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.models import Artifact, Run
from runs.workflow_files import library

Known = tuple[str, int, datetime]


class DirectoryNews(Enum):
    """What a look at a directory brought."""

    NEW = "new"
    CHANGED = "changed"
    NONE = "none"


class Plans:
    """The workflows that are named in one look at many directories, each read once."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, Path | None], Plan | None] = {}

    def of(self, workflow_id: str, root: Path | None) -> Plan | None:
        if (workflow_id, root) not in self._read:
            self._read[workflow_id, root] = _plan_of(workflow_id, root)
        return self._read[workflow_id, root]


def follow(found: Directory, plans: Plans) -> DirectoryNews:
    """Bring the mirror of a directory up to date, or begin one."""
    root = work_tree_of(found.folder)
    standing = retell(
        found.state,
        found.metadata,
        [told.found for told in found.events],
        known_plan=plans.of(found.metadata.workflow_id, root),
        is_executed_here=False,
    )
    files = _files_named(found, root)
    with storing(found.folder):
        run = _locked(found)
        news = _news(run, found)
        if run is None:
            fields = {"mirrors": str(found.folder), "workspace": str(root or found.folder)}
            run = importing.make_run(found, standing, **fields)
        else:
            _bring_up_to_date(run, found, standing)
        _show(run, files)
        importing.carry_along(run, found)
    return news


def _news(run: Run | None, found: Directory) -> DirectoryNews:
    if run is None:
        return DirectoryNews.NEW
    before = (run.last_event_id, run.updated_at, run.status)
    now = (len(found.events), found.state.updated_at or run.updated_at, found.state.status.value)
    return DirectoryNews.NONE if before == now else DirectoryNews.CHANGED


def standings() -> dict[str, Known]:
    """Where each mirror stood when it was last looked at, by its directory."""
    rows = Run.objects.exclude(mirrors="")
    told = rows.values_list("mirrors", "status", "last_event_id", "updated_at")
    return {mirrors: (status, last, at) for mirrors, status, last, at in told}


def is_as_known(folder: Path, known: Known | None) -> bool:
    """Whether nothing happened in a directory while nobody watched; one that asks is read again."""
    if known is None or known[0] == RunStatus.AWAITING_FEEDBACK:
        return False
    try:
        state = read_object(folder / "state.json")
        told = sum(name.endswith(".json") for name in names_in(folder / "events"))
        at = datetime.fromisoformat(str(state.get("updated_at")))
    except (Invalid, ValueError):
        return False
    return known == (state.get("status"), told, at)


def work_tree_of(folder: Path) -> Path | None:
    """The work tree a run directory lies in: never one that only its documents name."""
    base = folder.parents[2] if len(folder.parents) > 2 else folder
    for known in BASES:
        if base.parts[-len(known.parts) :] == known.parts:
            return base.parents[len(known.parts) - 1]
    return None


def files_shown(found: Directory, root: Path | None) -> list[Path]:
    """Where the files lie that a reviewer of its request reads."""
    return [root / file.path for file in _files_named(found, root)] if root else []


def _plan_of(workflow_id: str, root: Path | None) -> Plan | None:
    """The workflow as the work tree has it, or one of ours of the same name."""
    try:
        chain = library.load_chain(workflow_id, workspace=root)
        return make_plan(chain.workflows).plan
    except FaberError:
        return None  # then the steps that the run names must do


def _locked(found: Directory) -> Run | None:
    uuid = found.state.run_id.rpartition("/")[2]
    locked = Run.objects.select_for_update(of=("self",)).select_related("project")
    run = locked.filter(uuid=uuid).first()
    if run and run.mirrors != str(found.folder):
        if not run.mirrors:
            raise Refused(f"The run {run.run_id} already exists and is executed here.")
        if Path(run.mirrors).is_dir():
            raise Refused(f"The run {run.run_id} already exists, from {run.mirrors}.")
    return run


def _bring_up_to_date(run: Run, found: Directory, standing: RunStanding) -> None:
    known = found.events[: run.last_event_id]
    if len(known) < run.last_event_id or hash_of(known) != run.last_event_hash:
        raise Refused("Its earlier events were changed; the data here stays unchanged.")
    fields: Mapping[str, object] = {
        **importing.standing_fields(found, standing),
        "mirrors": str(found.folder),
    }
    for name, value in fields.items():
        setattr(run, name, value)
    run.save(update_fields=list(fields))
    keep_events(run, found.events[run.last_event_id :])
    _reconcile(run, found, standing.requests)


def _reconcile(run: Run, found: Directory, told: Sequence[Request]) -> None:
    """Requests here as they are there; what was decided in both places was decided there."""
    there = {request.request_id: request for request in told}
    here = {row.request_id: row for row in run.requests.prefetch_related("responses__write_back")}
    for name, row in here.items():
        request = there.get(name)
        if request is None:
            _close(row, is_final=found.state.status.is_final)
        elif not request.is_pending:
            _decided_there(row, request)
    for name, request in there.items():
        if name not in here:
            importing.check_new(name)
            keep_request(run, request)
        elif request.is_pending:
            _still_asked(here[name], request, run.plan_hash)


def _close(row: FeedbackRequest, *, is_final: bool) -> None:
    """Nothing is asked any more, and nobody says what was answered."""
    if row.status in (RequestStatus.CANCELLED, RequestStatus.SUPERSEDED):
        return
    decision = row.decision
    if decision and not decision.is_held and not _is_due(decision):
        return  # its directory had the answer, and has forgotten it since
    if decision:
        overtake(decision, "the run no longer asks it")
    row.status = RequestStatus.CANCELLED if is_final else RequestStatus.SUPERSEDED
    row.closed_at = timezone.now()
    row.save(update_fields=["status", "closed_at"])


def _decided_there(row: FeedbackRequest, request: Request) -> None:
    """Somebody answered in the directory; if it was not our own answer, theirs counts."""
    theirs, ours = request.answers[-1], row.decision
    if ours and ours.response == theirs.response and ours.name == theirs.provided_by.get("user"):
        if (written := write_back_of(ours)) and written.is_due:
            _settle(written)
        return
    if ours:
        said = f"{theirs.provided_by.get('user')} already chose {theirs.response} in its directory"
        overtake(ours, said)
    keep_answer(row, theirs)
    row.status, row.closed_at = RequestStatus.ANSWERED, theirs.received_at
    row.save(update_fields=["status", "closed_at"])


def _still_asked(row: FeedbackRequest, request: Request, plan_hash: str) -> None:
    decision = row.decision
    written = write_back_of(decision) if decision else None
    if written and not written.is_due:
        # Another writer, who keeps no lock, has put an older state over it.
        WriteBack.objects.filter(pk=written.pk).update(is_due=True)
    elif (
        row.status != RequestStatus.PENDING and not written and not (decision and decision.is_held)
    ):
        # Closed here and asked again there, with the same id: somebody restored a backup.
        row.responses.update(state=FeedbackResponse.State.RETRACTED)
        row.status, row.closed_at = RequestStatus.PENDING, None
    question = request.question
    before = (row.prompt, row.options, row.context)
    row.prompt, row.context = question.prompt, dict(question.context)
    row.options = [option_shape(option) for option in question.options]
    if before != (row.prompt, row.options, row.context):
        row.seal = seal_of(row, list(row.artifacts.all()), plan_hash)
    row.save(update_fields=["prompt", "options", "context", "seal", "status", "closed_at"])


def write_back_of(response: FeedbackResponse) -> WriteBack | None:
    return getattr(response, "write_back", None)


def _is_due(response: FeedbackResponse) -> bool:
    written = write_back_of(response)
    return written is not None and written.is_due


def overtake(response: FeedbackResponse, why: str) -> None:
    """An answer that came too late: it stays on record and has no effect."""
    if not response.is_retracted:
        recorded.retraction(response, reason=why)
    FeedbackResponse.objects.filter(pk=response.pk).update(state=FeedbackResponse.State.RETRACTED)
    WriteBack.objects.update_or_create(
        response=response, defaults={"is_due": False, "refused": why, "last_error": ""}
    )


def _settle(row: WriteBack) -> None:
    now = timezone.now()
    WriteBack.objects.filter(pk=row.pk).update(is_due=False, written_at=now, last_error="")


# What a reviewer reads beside the question


def _files_named(found: Directory, root: Path | None) -> tuple[FoundFile, ...]:
    asked = found.state.feedback_request
    if root is None or asked is None:
        return ()
    paths = [
        asked.context.get("artifact_path"),
        asked.context.get("spec_path"),
        found.state.artifacts.get("spec_path"),
    ]
    wanted = dict.fromkeys(path for path in paths if isinstance(path, str) and path)
    read = (artifacts.read_named(root, path) for path in wanted)
    return tuple(file for file in read if file.content is not None)


def _show(run: Run, files: Sequence[FoundFile]) -> None:
    """Keep the files as revisions; a new one makes what reviewers saw before stale."""
    asked = run.requests.filter(status=RequestStatus.PENDING).first() if files else None
    if asked is None:
        return
    shown = [_revision(run, file) for file in files]
    if not run.own_title and (heading := artifacts.heading_of(files)):
        run.own_title = heading
        run.save(update_fields=["own_title"])
    if {revision.pk for revision in shown} != set(asked.artifacts.values_list("pk", flat=True)):
        asked.artifacts.set(shown)
        asked.seal = seal_of(asked, shown, run.plan_hash)
        asked.save(update_fields=["seal"])


def _revision(run: Run, file: FoundFile) -> Artifact:
    content = file.content or b""
    digest = hashlib.sha256(content).hexdigest()
    latest = run.revisions.filter(path=file.path).order_by("-revision").first()
    if latest and latest.sha256 == digest:
        return latest
    return run.revisions.create(
        path=file.path,
        revision=latest.revision + 1 if latest else 1,
        sha256=digest,
        size=len(content),
        content=content,
    )
