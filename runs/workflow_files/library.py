"""Finds a workflow's file and those it extends, and reads them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.domain.workflow.definition import Workflow
from runs.domain.workflow.parse import InvalidWorkflow, read_workflow
from runs.domain.workflow.problems import Notes, did_you_mean
from runs.workflow_files.documents import EXTENSIONS, read_document

BUNDLED = Path(__file__).with_name("bundled")
NAMESPACE = "fractary-faber"

IN_WORKSPACE = Path(".fractary", "faber", "workflows")
# Nothing else ever becomes part of a path, so no reference can leave its folder.
_ID = re.compile(r"[a-z][a-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedChain:
    """A workflow and its ancestors, the root last; an inline definition has no path."""

    workflows: tuple[Workflow, ...]
    warnings: tuple[Problem, ...] = ()
    path: Path | None = None


class InvalidChain(Invalid):
    """What is wrong with a workflow and its ancestors, with what can be said of them all the same.

    The chain is there when all of them were read, whatever rule they break.
    """

    def __init__(self, notes: Notes, chain: LoadedChain | None) -> None:
        super().__init__(notes.problems)
        self.warnings = tuple(notes.warnings)
        self.chain = chain


def load_chain(reference: str, *, workspace: Path | None) -> LoadedChain:
    """Load a file by its path, or a known workflow by its id; raises NotFound or Invalid."""
    is_file = Path(reference).suffix in EXTENSIONS
    path = Path(reference).absolute() if is_file else _find(reference, None, workspace)
    return _load(_Source(document=read_document(path), path=path), workspace)


def load_definition(document: object, *, workspace: Path | None) -> LoadedChain:
    """Load a definition that came without a file; raises Invalid."""
    return _load(_Source(document=document), workspace)


def known_workflows(workspace: Path | None) -> list[str]:
    """The ids that can be started by name here."""
    return _ids_in(_folders(None, workspace))


def own_workflows(workspace: Path) -> list[str]:
    """Those of them that lie in the workspace itself."""
    return _ids_in([(workspace / IN_WORKSPACE).absolute()])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    document: object
    path: Path | None = None
    prefix: str = ""  # names an ancestor's file; the file asked for needs no name

    @property
    def extends(self) -> str | None:
        named = self.document.get("extends") if isinstance(self.document, dict) else None
        return named if isinstance(named, str) else None

    @property
    def name(self) -> str:
        if self.path:
            return self.path.stem
        return str(self.document.get("id")) if isinstance(self.document, dict) else ""

    def marked(self, problem: Problem) -> Problem:
        place = ": ".join(part for part in (self.prefix, problem.place) if part)
        return Problem(place, problem.message)


def _load(leaf: _Source, workspace: Path | None) -> LoadedChain:
    notes = Notes()
    sources = [leaf]
    while parent := _parent(sources, workspace, notes):
        sources.append(parent)
    # Every file is read even when one is wrong: its author is told everything at once.
    read = [_workflow(source, notes) for source in sources]
    chain = LoadedChain(
        workflows=tuple(workflow for workflow in read if workflow),
        warnings=tuple(notes.warnings),
        path=leaf.path,
    )
    if notes.problems:
        raise InvalidChain(notes, chain if all(read) and sources[-1].extends is None else None)
    return chain


def _workflow(source: _Source, notes: Notes) -> Workflow | None:
    try:
        read = read_workflow(source.document)
    except Invalid as error:
        notes.problems.extend(source.marked(problem) for problem in error.problems)
        if not isinstance(error, InvalidWorkflow):
            return None
        notes.warnings.extend(source.marked(warning) for warning in error.warnings)
        return error.workflow
    notes.warnings.extend(source.marked(warning) for warning in read.warnings)
    return read.workflow


def _parent(sources: Sequence[_Source], workspace: Path | None, notes: Notes) -> _Source | None:
    child = sources[-1]
    if child.extends is None:
        return None
    try:
        path = _find(child.extends, child.path, workspace)
    except NotFound as error:
        notes.problems.append(child.marked(Problem("extends", str(error))))
        return None
    if any(path == source.path for source in sources):
        trail = " → ".join([*(source.name for source in sources), path.stem])
        notes.problems.append(child.marked(Problem("extends", f"is a cycle: {trail}")))
        return None
    return _ancestor(path, notes)


def _ancestor(path: Path, notes: Notes) -> _Source | None:
    parent = _Source(document=None, path=path, prefix=path.name)
    try:
        return replace(parent, document=read_document(path))
    except Invalid as error:
        notes.problems.extend(parent.marked(problem) for problem in error.problems)
    return None


def _find(reference: str, child: Path | None, workspace: Path | None) -> Path:
    namespace, separator, name = reference.rpartition(":")
    if separator and namespace != NAMESPACE:
        raise NotFound(f"Unknown namespace {namespace}. Use {NAMESPACE}:.")
    folders = [BUNDLED] if separator else _folders(child, workspace)
    if not _ID.fullmatch(name):
        raise NotFound(f"{reference!r} is neither a {_or(EXTENSIONS)} file nor a workflow's id.")
    for path in (folder / f"{name}{suffix}" for folder in folders for suffix in EXTENSIONS):
        if path.is_file():
            return path
    places = ", ".join(map(str, folders))
    near = did_you_mean(name, _ids_in(folders), lead="; ") or "."
    raise NotFound(f"There is no workflow {name} in {places}{near}")


def _folders(child: Path | None, workspace: Path | None) -> list[Path]:
    """Where a bare id is looked up: beside the file, in the workspace, among the bundled ones."""
    beside = [child.parent] if child else []
    own = [(workspace / IN_WORKSPACE).absolute()] if workspace else []
    return list(dict.fromkeys([*beside, *own, BUNDLED]))


def _ids_in(folders: Iterable[Path]) -> list[str]:
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return sorted({f.stem for f in files if f.suffix in EXTENSIONS and _ID.fullmatch(f.stem)})


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
