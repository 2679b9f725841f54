"""Puts a context package together from the rows of a run and the sources outside."""

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from runs import trackers
from runs.context import branch, issue, workspace_files
from runs.context.budget import cut, limit_of
from runs.context.gathering import (
    Gathering,
    Json,
    SourceRead,
    Task,
    found,
    milliseconds_since,
    note,
    nothing,
)
from runs.domain.values.plain_json import given
from runs.domain.values.status import RunStatus
from runs.domain.values.text import Scrubber, scrubbed, visible, without_comments
from runs.engine import NewEvents
from runs.engine.concealing import concealed
from runs.models import Run, StepAttempt
from runs.record import state_json
from runs.record.state_json import LAST_EVENTS, SHORT_HISTORY, Records

# Where the words of a source come from; what is ours is never in doubt.
_TRUST = {
    "state": "faber",
    "metadata": "faber",
    "spec": "workspace",
    "issue": "people",
    "branch": "workspace",
    "events": "faber",
}


@dataclass(slots=True)
class Memory:
    """What is read once in a job, however many steps it executes.

    The issue; and what is on record of the run, for as long as only this job adds to it.
    """

    issue: SourceRead | None = None
    _known: Records | None = None
    _ends_with: str = ""  # the hash of the last event that is known
    metadata: SourceRead | None = None  # of the one run, and nothing in it changes
    _clean: dict[int, tuple[object, object]] = field(default_factory=dict)  # as it was, as it reads

    def readable(self, values: Sequence[object]) -> list[object]:
        """Values without what no reader sees or may see; what was looked through is not again."""
        new = [value for value in values if id(value) not in self._clean]
        read = cast("list[object]", scrubbed(new, _readable))
        found = self._clean | {
            id(value): (value, clean) for value, clean in zip(new, read, strict=True)
        }
        # With each value itself, so that no other is where it was.
        self._clean = {id(value): found[id(value)] for value in values}
        return [found[id(value)][1] for value in values]

    def records(self, run: Run, new: NewEvents | None) -> Records:
        """What is on record, read only if somebody else has told something since."""
        known = self.continued(run, new) or state_json.read_for_step(run)
        self.note(known)
        return known

    def continued(self, run: Run, new: NewEvents | None) -> Records | None:
        """What is on record with these events behind it; None where that is not all there is."""
        known = self._known
        if known is None or new is None or new.after != self._ends_with:
            return None
        if run.last_event_id > SHORT_HISTORY:
            return None
        return Records(run, [*known.events, *new.events], known.decisions)

    def note(self, known: Records) -> None:
        self._known, self._ends_with = known, known.run.last_event_hash


def needs_no_look(run: Run, memory: Memory) -> bool:
    """Whether all that a package holds is known by now, without a look outside the database."""
    _, tasks = _outside(run, memory)
    return not tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a person must be asked before the step can be executed."""

    source: str
    message: str


def reconstitute(
    known: Records, *, attempt: StepAttempt | None = None, memory: Memory | None = None
) -> Json:
    """The context package: all of it is read now, but for what this job has in its memory."""
    began = time.perf_counter()
    run, job = known.run, memory or Memory()
    sources, tasks = _outside(run, job)
    gathering = Gathering(tasks)
    sources |= _rows(known, job)
    sources |= gathering.results()
    job.issue = sources["issue"]
    package = _assembled(sources, known, attempt)
    if budget := limit_of(run.project.context_bytes, run.project.context_tokens):
        package = cut(package, budget)
    package["duration_ms"] = milliseconds_since(began)
    return package


def trouble_in(package: Mapping[str, object]) -> Trouble | None:
    """The first source that is there, cannot be read and was not given up."""
    for said in given(package, "notes", list):
        if said["level"] == "error":
            return Trouble(source=said["source"], message=said["message"])
    return None


def new_mark() -> str:
    """A word that nobody can write into a comment, because nobody knows it before."""
    return secrets.token_hex(8)


def _rows(known: Records, job: Memory) -> dict[str, SourceRead]:
    """What the database tells; on the calling thread, which may be inside a transaction."""
    last = known.events[-LAST_EVENTS:]
    rows = {
        "state": _row(lambda: state_json.render_state(known)),
        "events": _row(lambda: last),
        "decisions": _row(lambda: known.decisions),
    }
    state, decisions, *events = job.readable([rows["state"].value, known.decisions, *last])
    clean = {"state": state, "events": events, "decisions": decisions}
    job.metadata = job.metadata or _metadata(known.run)
    read = {name: replace(row, value=clean[name]) for name, row in rows.items()}
    return {"state": read.pop("state"), "metadata": job.metadata, **read}


def _metadata(run: Run) -> SourceRead:
    row = _row(lambda: state_json.metadata_of(run))
    launched = dict(cast("Json", row.value))
    # It must stay what its hash says.
    plan = {"plan": launched.pop("plan")}
    clean = cast("Json", scrubbed(launched, _readable))
    return replace(row, value=clean | cast("Json", scrubbed(plan, concealed)))


def _row(read: Callable[[], object]) -> SourceRead:
    began = time.perf_counter()
    value = read()
    raw = json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace")
    return replace(found(value, raw), duration_ms=milliseconds_since(began))


# A text as a reader sees it, without secrets.
_readable = Scrubber(lambda text: concealed(without_comments(visible(text))))


def _outside(run: Run, job: Memory) -> tuple[dict[str, SourceRead], dict[str, Task]]:
    """What is known about the other sources without a look, and how to look at the rest."""
    known: dict[str, SourceRead] = {"documents": SourceRead(value=[])}
    tasks: dict[str, Task] = {}
    workspace, project = run.folder, run.project
    if path := str(run.artifacts.get("spec_path") or ""):
        read = partial(workspace_files.spec, workspace, path, concealed)
        tasks["spec"] = Task(read=read, seconds=workspace_files.SECONDS)
    else:
        known["spec"] = nothing("spec", "missing", "info", "The run has no specification yet.")
    if names := _documents(run):
        read = partial(workspace_files.documents, workspace, names, concealed)
        tasks["documents"] = Task(read=read, seconds=workspace_files.SECONDS)
    if name := str(run.artifacts.get("branch_name") or ""):
        read = partial(branch.look, workspace, name, project.base_branch)
        tasks["branch"] = Task(read=read, seconds=branch.SECONDS)
    else:
        known["branch"] = nothing("branch", "missing", "info", "The run has no branch yet.")
    if job.issue:
        known["issue"] = job.issue
    elif place := trackers.place_of(project.tracker, project.tracked_as, run.work_id):
        reader = trackers.service(place.tracker).reader(issue.SECONDS)
        read = partial(issue.fetch, reader, place)
        tasks["issue"] = Task(read=read, seconds=issue.SECONDS)
    else:
        known["issue"] = nothing("issue", "off", "info", _why_no_issue(run))
    return known, tasks


def _documents(run: Run) -> list[str]:
    """The documents that older files' hooks have added so far."""
    passed = run.frozen_plan.units[: run.position + 1]
    return [unit.document for unit in passed if unit.document]


def _why_no_issue(run: Run) -> str:
    if not run.work_id:
        return "The run has no work id, so there is no issue."
    return "No issue: no tracker is configured, or the work id is not an issue number."


def _assembled(sources: dict[str, SourceRead], known: Records, attempt: StepAttempt | None) -> Json:
    package: Json = {name: sources[name].value for name in (*_TRUST, "decisions", "documents")}
    package["documents"] = package["documents"] or []  # none when they could not be read
    for name in ("issue", "branch"):
        package[name] = scrubbed(package[name], _readable)
    # In the same order wherever a source was read, so that equal facts make equal packages.
    outside = [sources[name] for name in ("spec", "issue", "branch", "documents")]
    notes = [said for source in outside for said in source.notes]
    waived = _given_up(known.decisions)
    return package | {
        "resume_point": _resume_point(known.run, attempt),
        "notes": scrubbed([_judged(said, waived) for said in notes], _readable),
        "left_out": [told for source in outside for told in source.left_out],
        "sources": {name: _shape(sources[name], trust) for name, trust in _TRUST.items()},
        "duration_ms": 0,
        "mark": new_mark(),
    }


def _shape(source: SourceRead, trust: str) -> Json:
    return {
        "status": source.status,
        "duration_ms": source.duration_ms,
        "bytes": source.size,
        "sha256": source.sha256,
        "trust": trust,
    }


def _given_up(decisions: list[Json]) -> set[str]:
    """The sources that people last decided to do without."""
    answered: dict[str, object] = {}
    for decision in decisions:
        source = given(decision, "context", dict).get("context_source")
        if source and decision["response"]:
            answered[source] = given(decision, "response", dict).get("response")
    return {source for source, response in answered.items() if response == "continue"}


def _judged(said: Json, given_up: set[str]) -> Json:
    if said["level"] == "error" and said["source"] in given_up:
        without = f"{said['message']} A reviewer chose to continue without it."
        return note(str(said["source"]), "warning", without)
    return said


def _resume_point(run: Run, attempt: StepAttempt | None) -> Json | None:
    point = state_json.resume_point(run)
    return {**point, "mode": _mode(run, attempt)} if point else None


def _mode(run: Run, attempt: StepAttempt | None) -> str:
    if attempt is None:
        return _MODES.get(run.state, "continue")
    if attempt.feedback:
        return "after_feedback"
    return "retry" if attempt.action in ("retry", "revise") else attempt.action


_MODES = {
    RunStatus.PENDING: "start",
    RunStatus.AWAITING_FEEDBACK: "after_feedback",
    RunStatus.FAILED: "retry",
}
