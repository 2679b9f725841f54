"""Keeps the files that steps name, as numbered revisions with their hash."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runs.domain.responses.results import Result
from runs.domain.values.events import Entry, EventType
from runs.domain.workflow.plan import Unit
from runs.models import Artifact, Run, StepAttempt

LARGEST = 5 * 1024 * 1024

# The keys of a response's details that become the run's artifacts.
NAMED = ("spec_path", "branch_name", "pr_url", "pr_number", "artifact_path")
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
    note: str = ""


def named_by(result: Result) -> dict[str, object]:
    return {key: result.details[key] for key in NAMED if result.details.get(key)}


def collect(workspace: Path, unit: Unit, result: Result) -> tuple[FoundFile, ...]:
    """Read the files that the step declares or its response names."""
    paths = [
        unit.step.artifact,
        *(result.details.get(key) for key in FILES),
        *(piece.artifact for piece in unit.step.evidence),
    ]
    wanted = dict.fromkeys(str(path) for path in paths if path)
    return tuple(read_named(workspace, path) for path in wanted)


def inside(workspace: Path, named: str) -> Path | None:
    """The file that is meant, with every link followed; None when that leads out."""
    root = workspace.resolve()
    # The seeds write `/specs/x.md` for a path from the root of the work tree.
    absolute = Path(named)
    is_inside = absolute.is_absolute() and absolute.resolve().is_relative_to(root)
    file = (absolute if is_inside else root / named.lstrip("/")).resolve()
    return file if file.is_relative_to(root) else None


def read_named(workspace: Path, named: str) -> FoundFile:
    """A file of a work tree by the name somebody gave it."""
    file = inside(workspace, named)
    if file is None:
        return FoundFile(path=named, content=None, note="is outside the workspace")
    path = str(file.relative_to(workspace.resolve()))
    try:
        if file.stat().st_size > LARGEST:
            return FoundFile(path=path, content=None, note=f"is larger than {LARGEST} bytes")
        return FoundFile(path=path, content=file.read_bytes())
    except OSError as error:
        return FoundFile(path=path, content=None, note=error.strerror or "cannot be read")


def keep(run: Run, attempt: StepAttempt, found: tuple[FoundFile, ...]) -> list[Entry]:
    """Store what changed as new revisions and tell it; an unchanged file makes none."""
    entries: list[Entry] = []
    for file in found:
        if file.content is None:
            continue
        digest = hashlib.sha256(file.content).hexdigest()
        latest = run.revisions.filter(path=file.path).order_by("-revision").first()
        if latest and latest.sha256 == digest:
            continue
        revision = latest.revision + 1 if latest else 1
        run.revisions.create(
            attempt=attempt,
            path=file.path,
            revision=revision,
            sha256=digest,
            size=len(file.content),
            content=file.content,
        )
        entries.append(
            Entry(
                type=EventType.ARTIFACT_MODIFY if latest else EventType.ARTIFACT_CREATE,
                phase=attempt.phase,
                step=attempt.step,
                message=f"{file.path} revision {revision}",
                artifacts=(
                    {
                        "type": "file",
                        "name": Path(file.path).name,
                        "path": file.path,
                        "sha": digest,
                        "size_bytes": len(file.content),
                    },
                ),
                metadata={"revision": revision},
            )
        )
    return entries


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


def shown_at(run: Run, attempt: StepAttempt | None) -> list[Artifact]:
    """The revisions a reviewer decides on: what the step named, else the newest of every file."""
    latest: dict[str, Artifact] = {}
    for artifact in run.revisions.defer("content").order_by("path", "revision"):
        latest[artifact.path] = artifact
    if attempt is None:
        return list(latest.values())
    return [latest[path] for path in attempt.files if path in latest]
