"""What a request shows of its run's folder: compared when it is answered, asked again if other."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import announce, recorded
from feedback.requests.seal import seal_of
from runs.changes import looking, store
from runs.changes.values import Looked
from runs.domain.planning import asked_again, planner
from runs.domain.values.actors import POLICY, Actor
from runs.domain.values.errors import Stale
from runs.domain.values.events import Entry
from runs.domain.values.questions import Action, Gate, Question
from runs.domain.values.status import RequestStatus
from runs.engine import shown_files
from runs.engine.change import locked
from runs.engine.shown_files import AskedBefore, Differences, FileDifference, ShownFile
from runs.models import Run, places
from runs.models.statements import Prepared, insert, update
from runs.workspaces import recognising

# Files that were sent from outside, or came with an import, were never in the run's folder here.
_SHOWN = Prepared(
    lambda request_id: (
        FeedbackRequest.artifacts.through.objects.filter(
            Q(feedbackrequest__run__imported_at=None)
            | Q(artifact__created_at__gt=F("feedbackrequest__run__imported_at")),
            feedbackrequest__request_id=request_id,
            feedbackrequest__run__mirrors="",
            artifact__attempt__handed_in__isnull=True,
        )
        .exclude(artifact__attempt__is_remote=True)
        .order_by("artifact__path")
        .values_list(
            *("artifact__path", "artifact__revision", "artifact__sha256"),
            "feedbackrequest__run__workspace",
        )
    ),
    "a request",
)

# Most requests show neither files nor code.
_SHOWS = Prepared(
    lambda request_id: FeedbackRequest.objects.filter(request_id=request_id).values_list(
        "snapshot_id",
        Exists(FeedbackRequest.artifacts.through.objects.filter(feedbackrequest=OuterRef("pk"))),
    ),
    "a request",
)

Files = Sequence[ShownFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of a run's folder before its request was locked."""

    files: Files = ()
    differing: Sequence[FileDifference] = ()
    code: Looked | None = None  # the code as it is now, where it is not what was shown
    unchanged: Looked | None = None  # the code as it was shown, where it is still that

    @property
    def has_other_code(self) -> bool:
        """Whether it is the code alone: where a file changed too, all of it is asked again."""
        return self.code is not None and not self.differing


@contextmanager
def compared(request_id: str) -> Iterator[Seen]:
    """Look at what a request shows before the transaction of its answer, and after a refusal.

    An answer to other code than is there now is stale; then the request shows that code, under
    a new seal.
    """
    seen = look(request_id)
    try:
        yield seen
    except Stale as error:
        if seen.has_other_code and seen.code and (seal := _refresh(request_id, seen.code)):
            error.details["seal"] = seal
        raise


_WITH_CODE = Prepared(
    lambda name: FeedbackRequest.objects.filter(
        request_id=name, snapshot__isnull=False
    ).select_related("run__project", "snapshot__previous"),
    "a name",
)


def look(request_id: str) -> Seen:
    """What a request shows of its run's folder; it is read and compared here already.

    Called before the lock, so that nobody waits for a slow disk: the comparison under the lock
    reads only what changed since.
    """
    if not any(any(row) for row in _SHOWS.rows(request_id)):
        return Seen()
    seen = look_at_files(request_id)
    request = _WITH_CODE.first(request_id)
    if request is None or not (now := looking.tree_now(request.run)):
        return seen
    return _with_code(request, now, seen)


def look_at_files(request_id: str) -> Seen:
    """The same without the code."""
    rows = _SHOWN.rows(request_id)
    files = [
        ShownFile(path=path, revision=revision, sha256=sha256) for path, revision, sha256, _ in rows
    ]
    return Seen(files=files, differing=_compared(rows[0][3], files) if files else ())


def _with_code(request: FeedbackRequest, tree: str, seen: Seen) -> Seen:
    kept = request.snapshot
    if kept is None or kept.tree == tree:
        same = Looked(place=kept.place, taken=store.as_taken(kept)) if kept else None
        return replace(seen, unchanged=same)
    is_same_round = request.status == RequestStatus.PENDING and not seen.differing
    since = store.earlier_tree(kept) if is_same_round else store.before(request.run, kept.place)
    looked = looking.look(request.run, kept.place, since)
    return replace(seen, code=looked) if looked.taken else seen


def _refresh(request_id: str, looked: Looked) -> str:
    """Have an open request show the code as it is now; returns its new seal."""
    if looked.taken is None:
        return ""
    store.keep_parts(looked.taken)
    with transaction.atomic():
        request = FeedbackRequest.objects.get(request_id=request_id)
        run = locked(request.run_id)
        request.refresh_from_db(fields=["status", "seal"])
        if request.status != RequestStatus.PENDING:
            return ""
        shown = store.made(run, looked.place, looked.taken)
        insert(shown)
        request.run, request.snapshot = run, shown
        files = list(request.artifacts.defer("content"))
        request.seal = seal_of(request, files, run.plan_hash)
        request.save(update_fields=["snapshot", "seal"])
        recorded.question(request, files)
        announce.changed(request)
    return request.seal


def differences(
    run: Run, request: FeedbackRequest, response: FeedbackResponse, seen: Seen
) -> Differences:
    """How the folder differs from what an answer was given to, if it stands on that."""
    if not relies_on_it(request, Action(response.action)):
        return Differences()
    if not recognising.is_here(run):  # a clone of the same name has other files
        return Differences()
    gone = asked_again.gone_before(request.context)
    files = _compared(run.workspace, [*seen.files, *(ShownFile(path=path) for path in gone)])
    return Differences(files=files, code=seen.code)


def relies_on_it(request: FeedbackRequest, action: Action) -> bool:
    return planner.relies_on_what_was_shown(Gate(request.gate), action)


def _compared(workspace: str, files: Files) -> list[FileDifference]:
    folder = places.found(workspace)
    # A folder that is not on this machine cannot be compared with anything.
    return shown_files.differences(folder, files) if workspace and folder.is_dir() else []


def ask_again(
    run: Run,
    request: FeedbackRequest,
    found: Differences,
    *,
    actor: Actor,
    events: Sequence[Entry],
) -> None:
    """Have people decide on what is there now; the answer stays on record and moves nothing."""
    request.status = RequestStatus.SUPERSEDED.value
    update(FeedbackRequest, {"id": request.pk}, {"status": request.status})
    asked = AskedBefore(
        request_id=request.request_id,
        question=Question(
            type=request.feedback_type,
            gate=Gate(request.gate),
            prompt=request.prompt,
            title=request.own_title,
            options=request.choices,
            context=request.context,
        ),
        gate_key=request.gate_key,
        after=request.attempt,
        gone=asked_again.gone_before(request.context),
        # A policy looks at nothing; what changes while it does that is for people.
        by_policy=actor == POLICY and not asked_again.was_asked_again(request.context),
    )
    shown_files.ask_again(run, asked, found, events)


def newer(request: FeedbackRequest) -> FeedbackRequest | None:
    """The request that took its place, where one did because a file had changed."""
    if request.status != RequestStatus.SUPERSEDED:
        return None
    later = request.run.requests.filter(pk__gt=request.pk).order_by("pk").first()
    return later if later and asked_again.was_asked_again(later.context) else None


def why_again(request: FeedbackRequest) -> str:
    """What changed since it was decided on, in a sentence for each; else nothing."""
    changes, code = asked_again.changes_in(request.context), asked_again.code_in(request.context)
    return asked_again.reason(changes, code)
