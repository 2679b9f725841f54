"""Keeps the files that steps name, as numbered revisions with their hash."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runs.domain.planning import titles
from runs.domain.responses.results import Result
from runs.domain.values.background import FileProblem, UnshownFile
from runs.domain.values.events import Entry, EventType
from runs.domain.workflow.plan import Unit
from runs.domain.workflow.spelling import OF_STEPS
from runs.engine.concealing import concealed
from runs.models import Artifact, Run, StepAttempt
from runs.workspaces.files import NotOrdinary, open_ordinary

LARGEST = 5 * 1024 * 1024
_LONGEST_PATH = 500

FILES = ("spec_path", "artifact_path")
_TOLD = {
    "branch_name": EventType.BRANCH_CREATE,
    "pr_url": EventType.PR_CREATE,
    "spec_path": EventType.SPEC_GENERATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file a step named, read before the transaction that keeps it."""

    path: str
    content: bytes | None
    problem: FileProblem | None = None  # why there is no content
    note: str = ""

    @property
    def unshown(self) -> UnshownFile | None:
        if self.problem is None:
            return None
        message = f"{self.path} {self.note}."
        return UnshownFile(path=self.path, problem=self.problem, message=message)


def named_by(result: Result) -> dict[str, object]:
    return {key: result.details[key] for key in OF_STEPS if result.details.get(key)}


def collect(workspace: Path, unit: Unit, result: Result) -> tuple[FoundFile, ...]:
    """Read the files that the step declares or its response names."""
    found = (read_named(workspace, path) for path in wanted_of(unit, result))
    return tuple({file.path: file for file in found}.values())


def wanted_of(unit: Unit, result: Result) -> list[str]:
    """The files that a reviewer of the result expects to see, each by its name."""
    paths = [
        unit.step.artifact,
        *(result.details.get(key) for key in FILES),
        *(piece.artifact for piece in unit.step.evidence),
    ]
    return list(dict.fromkeys(str(path) for path in paths if path))


def inside(workspace: Path, named: str) -> Path | None:
    """The file that is meant, with every link followed; None when that leads out."""
    root = workspace.resolve()
    # The seeds write `/specs/x.md` for a path from the root of the work tree.
    absolute = Path(named)
    is_inside = absolute.is_absolute() and absolute.resolve().is_relative_to(root)
    file = (absolute if is_inside else root / named.lstrip("/")).resolve()
    if file.is_symlink():  # with every link followed; Python before 3.13 says so itself
        raise RuntimeError(f"{named} is a loop of links")
    return file if file.is_relative_to(root) else None


def read_named(workspace: Path, named: str) -> FoundFile:
    """A file of a work tree by the name somebody gave it."""
    try:
        file = inside(workspace, named)
    except (OSError, ValueError, RuntimeError):  # a loop of links, a name too long, no name at all
        return _unshown(named, FileProblem.UNREADABLE, "can't be looked up")
    if file is None:
        return _unshown(named, FileProblem.OUTSIDE, "is outside the workspace")
    return read_file(file, str(file.relative_to(workspace.resolve())))


def read_file(file: Path, path: str) -> FoundFile:
    """A file with no links left in its path."""
    try:
        with open_ordinary(file) as opened:
            content = opened.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return _unshown(path, FileProblem.MISSING, "is missing from the workspace")
    except NotOrdinary as error:
        return _unshown(path, FileProblem.NOT_A_FILE, str(error))
    except OSError as error:
        return _unshown(path, FileProblem.UNREADABLE, f"can't be read: {error.strerror or error}")
    if len(content) > LARGEST:
        most = f"{LARGEST // 1024**2} MB"
        return _unshown(path, FileProblem.TOO_LARGE, f"is too large: more than {most}")
    return FoundFile(path=path, content=content)


def not_sent(path: str) -> FoundFile:
    """A file that an executor outside named, and did not send along."""
    return _unshown(path, FileProblem.NOT_SENT, "was named but not sent")


def _unshown(path: str, problem: FileProblem, note: str) -> FoundFile:
    return FoundFile(path=path[:_LONGEST_PATH], content=None, problem=problem, note=note)


def heading_of(found: Iterable[FoundFile]) -> str:
    """By which a run is called that has no other name; nothing when no document has a heading."""
    documents = ((file.path, file.content) for file in found if file.content is not None)
    return titles.cleaned(titles.heading_in(documents), concealed)


def keep(run: Run, attempt: StepAttempt, found: tuple[FoundFile, ...]) -> list[Entry]:
    """Store what changed as new revisions and tell it; an unchanged file makes none."""
    kept = [_keep(run, file, attempt.phase, attempt.step, attempt) for file in found]
    return [entry for entry in kept if entry]


def keep_changed(run: Run, unit: Unit, found: Iterable[FoundFile]) -> list[Entry]:
    """The same for files that no step handed back: somebody else changed them."""
    kept = [_keep(run, file, unit.phase, unit.step.id, None) for file in found]
    return [entry for entry in kept if entry]


def _keep(
    run: Run, file: FoundFile, phase: str, step: str, attempt: StepAttempt | None
) -> Entry | None:
    if file.content is None:
        return None
    digest = hashlib.sha256(file.content).hexdigest()
    latest = run.revisions.filter(path=file.path).order_by("-revision").first()
    if latest and latest.sha256 == digest:
        return None
    revision = latest.revision + 1 if latest else 1
    made = run.revisions.create(
        attempt=attempt,
        path=file.path,
        revision=revision,
        sha256=digest,
        size=len(file.content),
        content=file.content,
    )
    return told_of(made, phase, step)


def told_of(made: Artifact, phase: str, step: str, **more: object) -> Entry:
    """How a revision stands in the history, by which it is known to be the file it was."""
    return Entry(
        type=EventType.ARTIFACT_MODIFY if made.revision > 1 else EventType.ARTIFACT_CREATE,
        phase=phase,
        step=step,
        message=f"{made.path} revision {made.revision}",
        artifacts=(
            {
                "type": "file",
                "name": Path(made.path).name,
                "path": made.path,
                "sha": made.sha256,
                "size_bytes": made.size,
            },
        ),
        metadata={"revision": made.revision, **more},
    )


def tell_named(run: Run, attempt: StepAttempt, named: Mapping[str, object]) -> list[Entry]:
    """Events for branches, specifications and pull requests a response names for the first time."""
    return [
        Entry(
            type=event_type,
            phase=attempt.phase,
            step=attempt.step,
            message=str(named[key]),
            metadata={key: named[key]},
        )
        for key, event_type in _TOLD.items()
        if key in named and run.artifacts.get(key) != named[key]
    ]


def shown_at(
    run: Run, attempt: StepAttempt | None, *, gone: Collection[str] = ()
) -> list[Artifact]:
    """The revisions a reviewer decides on: what the step named, else the newest of every file."""
    if attempt is not None and not attempt.files:
        return []
    latest: dict[str, Artifact] = {}
    for artifact in run.revisions.defer("content").order_by("path", "revision"):
        if artifact.path not in gone:
            latest[artifact.path] = artifact
    if attempt is None:
        return list(latest.values())
    return [latest[path] for path in attempt.files if path in latest]
