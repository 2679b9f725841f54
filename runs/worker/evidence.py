"""Looks for what a step must leave behind before it counts as done."""

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.plain_json import given
from runs.domain.workflow import evidence as pieces
from runs.domain.workflow.definition import Evidence
from runs.domain.workflow.evidence import Checked, EvidenceStatus
from runs.domain.workflow.plan import Unit
from runs.engine import Claim
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile
from runs.executors.command import ends_well
from runs.executors.orders import Order, Outcome, Rules, Watcher
from runs.models import StepAttempt
from runs.workspaces.files import open_ordinary
from runs.workspaces.git import ask_git, git

_DONE = (ResultStatus.SUCCESS, ResultStatus.WARNING)
_MOST_HEADS = 2000
_MOST_COMMITS = 100
_TAIL = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """Where evidence is looked for, and how its commands are run there."""

    order: Order
    rules: Rules
    watcher: Watcher
    is_here: bool = True  # False when the step was executed in a folder of another machine
    sent: frozenset[str] = frozenset()  # files that came with the response

    @property
    def folder(self) -> Path:
        return self.order.workspace


def note_baseline(attempt: StepAttempt, unit: Unit, folder: Path) -> None:
    """Remember what there was before a step that must add to it.

    An attempt that goes on for a dead worker has the baseline of the first.
    """
    wanted = unit.step.evidence
    if attempt.baseline is not None or not any(w.commit or w.artifact for w in wanted):
        return
    attempt.baseline = {
        "heads": _heads(folder) if any(piece.commit for piece in wanted) else [],
        "files": {p.artifact: _hash(folder, p.artifact) for p in wanted if p.artifact},
    }
    StepAttempt.objects.filter(pk=attempt.pk).update(baseline=attempt.baseline)


def weigh(
    claim: Claim, unit: Unit, outcome: Outcome, found: tuple[FoundFile, ...], place: SearchPlace
) -> tuple[Outcome, tuple[FoundFile, ...]]:
    """The outcome with what was found; a success that lacks its evidence becomes a failure."""
    if outcome.result.status not in _DONE or not unit.step.evidence:
        return outcome, found
    search = _Search(claim, outcome.result, place)
    checked = tuple(search.look_for(piece) for piece in unit.step.evidence)
    if search.was_stopped:
        return replace(outcome, ended="stopped"), ()
    outcome = replace(outcome, evidence=checked, stdout=outcome.stdout + search.printed)
    if refused := pieces.refusal(outcome.result, unit.key, checked):
        return replace(outcome, result=refused, said=outcome.result), ()
    return outcome, found


class _Search:
    def __init__(self, claim: Claim, result: Result, place: SearchPlace) -> None:
        self.printed = ""
        self.was_stopped = False
        self._run, self._baseline = claim.run, dict(claim.attempt.baseline or {})
        self._result = result
        self._place = place

    def look_for(self, piece: Evidence) -> Checked:
        kind = pieces.kind_of(piece)
        looks: dict[str, Callable[[Evidence], tuple[EvidenceStatus, str]]] = {
            "commit": self._commit,
            "artifact": self._artifact,
            "file": self._file,
            "command": self._command,
        }
        if self._place.is_here or kind == "artifact":
            standing, words = looks[kind](piece)
        else:
            standing = EvidenceStatus.UNCHECKED
            words = "Not checked: the step ran on another machine."
        wanted = piece.artifact or piece.file or shlex.join(piece.command or ())
        return Checked(kind=kind, wanted=wanted, standing=standing, words=words)

    def _commit(self, _piece: Evidence) -> tuple[EvidenceStatus, str]:
        folder = self._place.folder
        if not git(folder, "rev-parse", "--git-dir"):
            return (
                EvidenceStatus.MISSING,
                "The workspace is not a git repository, so there is no commit.",
            )
        known = [str(head) for head in given(self._baseline, "heads", list)]
        for tip in self._tips():
            new = ask_git(
                folder,
                *("rev-list", "--ignore-missing", f"--max-count={_MOST_COMMITS}", tip),
                *(("--not", *known) if known else ()),
            )
            if commits := new.text.split() if new.ok else []:
                many = f"{len(commits)} new commits, the last is" if commits[1:] else "New commit"
                return EvidenceStatus.FOUND, f"{many} {commits[0][:10]}."
        return EvidenceStatus.MISSING, "No new commit since the step started."

    def _tips(self) -> list[str]:
        """What is checked out, and the branch the run works on when that is another."""
        named = (self._result.details.get("branch_name"), self._run.artifacts.get("branch_name"))
        refs = ["HEAD", *(f"refs/heads/{name}" for name in named if isinstance(name, str))]
        folder = self._place.folder
        tips = (git(folder, "rev-parse", "--verify", "-q", f"{ref}^{{commit}}") for ref in refs)
        return list(dict.fromkeys(filter(None, tips)))

    def _artifact(self, piece: Evidence) -> tuple[EvidenceStatus, str]:
        named = piece.artifact or ""
        if named.lstrip("/") in self._place.sent:
            return EvidenceStatus.FOUND, f"{named} was submitted."
        if not self._place.is_here:
            return EvidenceStatus.MISSING, f"{named} was not submitted."
        standing, words = self._file(piece.model_copy(update={"file": named}))
        if standing is not EvidenceStatus.FOUND:
            return standing, words
        folder = self._place.folder
        if self._is_named(named):
            return EvidenceStatus.FOUND, f"{named} was submitted."
        if given(self._baseline, "files", dict).get(named) != _hash(folder, named):
            return EvidenceStatus.FOUND, f"{named} was changed."
        return EvidenceStatus.MISSING, f"{named} already existed, and the step did not change it."

    def _is_named(self, path: str) -> bool:
        """Whether the response itself names the file."""
        folder = self._place.folder
        said = [self._result.details.get(key) for key in artifacts.FILES]
        ours = artifacts.inside(folder, path)
        return any(
            isinstance(name, str) and artifacts.inside(folder, name) == ours for name in said
        )

    def _file(self, piece: Evidence) -> tuple[EvidenceStatus, str]:
        named = piece.file or ""
        try:
            file = artifacts.inside(self._place.folder, named)
            if file is None:
                return EvidenceStatus.MISSING, f"{named} is outside the workspace."
            if file.is_file():
                return EvidenceStatus.FOUND, f"{named} exists."
            return (
                EvidenceStatus.MISSING,
                f"{named} {'is not a file' if file.exists() else 'not found'}.",
            )
        except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a name too long
            return EvidenceStatus.MISSING, f"{named[:200]!r} can't be looked up: {error}."

    def _command(self, piece: Evidence) -> tuple[EvidenceStatus, str]:
        argv, place = piece.command or (), self._place
        line = shlex.join(argv)
        ended = ends_well(argv, order=place.order, rules=place.rules, watcher=place.watcher)
        self.was_stopped = self.was_stopped or ended.ended == "stopped"
        self.printed += f"\n$ {line}\n{ended.stdout}{ended.stderr}"
        if ended.result.status is ResultStatus.SUCCESS:
            return EvidenceStatus.FOUND, f"`{line}` ended with exit code 0."
        why = [ended.result.message, *ended.result.errors]
        told = " ".join(dict.fromkeys(text[-_TAIL:].strip() for text in why))
        return EvidenceStatus.MISSING, f"`{line}`: {told}"


def _heads(folder: Path) -> list[str]:
    """Every commit that a branch ended at: what is reachable from these is not new."""
    heads = git(folder, "for-each-ref", "--format=%(objectname)", "refs/heads").split()
    return list(
        dict.fromkeys([*git(folder, "rev-parse", "-q", "--verify", "HEAD").split(), *heads])
    )[:_MOST_HEADS]


def _hash(folder: Path, named: str) -> str | None:
    try:
        file = artifacts.inside(folder, named)
        if file is None:
            return None
        with open_ordinary(file) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, ValueError, RuntimeError):
        return None
