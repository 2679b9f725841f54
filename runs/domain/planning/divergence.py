"""What a response claims beyond the one step it was asked for; the engine alone owns the order."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from runs.domain.responses.results import Result, ResultStatus, refuted
from runs.domain.values.phases import Phase
from runs.domain.workflow.plan import Plan, Unit

# Keys are compared without case, dashes and underscores: stepsCompleted is steps_completed.
_STEP = {"step", "stepid", "stepname", "currentstep", "executedstep", "completedstep"}
_STEPS_DONE = {
    *("stepscompleted", "completedsteps", "stepsexecuted", "executedsteps"),
    *("stepsdone", "donesteps", "stepsfinished", "finishedsteps"),
}
# A step may have steps of its own under these names; only those of the plan are claims.
_STEPS_NAMED = {"steps", "skippedsteps", "stepsskipped", "skipsteps"}
_NEXT = {"nextstep"}
_PHASE = {"phase", "currentphase"}
_PHASES_DONE = {"phasescompleted", "completedphases", "phasesexecuted", "executedphases"}
_PHASES_NAMED = {"phases"}
_PHASE_ENDED = {"phasecomplete", "phasecompleted", "phasedone"}
_ALL_ENDED = {
    *("workflowcomplete", "workflowcompleted", "workflowdone", "workflowfinished"),
    *("runcomplete", "runcompleted", "rundone", "runfinished", "plancomplete", "plancompleted"),
    *("alldone", "allstepsdone", "allstepscomplete", "allstepscompleted"),
    *("allphasesdone", "allphasescomplete", "allphasescompleted"),
    *("workflowstatus", "runstatus", "workflowstate", "runstate"),
}

_ENDED = {"completed", "complete", "done", "finished"}
_MOVED = _ENDED | {"success", "skipped"}
_NOTHING = {"", "-", "none", "null", "n/a"}
_NAMES_A_STEP = re.compile(r"[a-z][a-z0-9_.:/-]*")
# Whole records that executors copy into their details, with claims of the same kinds inside.
_RECORDS = ("state", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overclaim:
    """One thing a response says that is not its to say."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.words} ({self.place})"


def claims_in(result: Result, plan: Plan, at: int) -> tuple[Overclaim, ...]:
    """Everything a response says about other steps, or about the run, instead of its own step."""
    given = _Given(plan, at, is_failure=result.status is ResultStatus.FAILURE)
    found = [
        *_claims(given, "", result.beside),
        *_claims(given, "details.", result.details),
        *(
            claim
            for name in _RECORDS
            if isinstance(record := result.details.get(name), Mapping)
            for claim in _claims(given, f"details.{name}.", record, of_run=True)
        ),
    ]
    return tuple(dict.fromkeys(found))


def refusal(result: Result, unit: Unit, claims: Iterable[Overclaim]) -> Result:
    """What counts instead of a response that claims too much: a failure that says so."""
    said = [str(claim) for claim in claims]
    return refuted(
        result,
        f"The executor was asked for {unit.key} alone, but its response {said[0]}"
        + (", among other claims." if said[1:] else "."),
        errors=[f"{unit.key} was asked for, but the response {words}." for words in said],
        suggested_fixes=[
            f"Make the executor run and report only {unit.key}, then retry",
        ],
    )


class _Given:
    """The step that was handed out, and the names of all the others."""

    def __init__(self, plan: Plan, at: int, *, is_failure: bool) -> None:
        self.unit = plan.units[at]
        # A step that failed may name what failed inside it.
        self.is_failure = is_failure
        self._own = _names(self.unit)
        self._plan, self._at = plan, at

    # Most responses claim nothing, and a plan may be long: names are gathered when they are needed.

    @cached_property
    def _later(self) -> list[Unit]:
        return [unit for unit in self._plan.units[self._at + 1 :] if not unit.is_hook]

    @cached_property
    def _others(self) -> dict[str, str]:
        others = [u for u in self._plan.units if u is not self.unit and not u.is_hook]
        return {name: unit.key for unit in others for name in _names(unit) - self._own}

    @property
    def is_last(self) -> bool:
        return not self._later

    @property
    def ends_its_phase(self) -> bool:
        return not any(unit.phase is self.unit.phase for unit in self._later)

    def is_own(self, name: str) -> bool:
        return name.casefold() in self._own

    def planned(self, name: str) -> str:
        """The other step of the plan that is meant; empty when it is none."""
        return self._others.get(name.casefold(), "")

    def other(self, name: str) -> str:
        """Any other step that is meant, planned or not; prose means none."""
        if self.is_own(name) or name.casefold() in _NOTHING:
            return ""
        invented = _NAMES_A_STEP.fullmatch(name.casefold()) and not self.is_failure
        return self.planned(name) or (name if invented else "")

    def comes_next(self, name: str) -> bool:
        return bool(self._later) and name.casefold() in _names(self._later[0])


def _names(unit: Unit) -> frozenset[str]:
    spellings = (unit.step.id, unit.key, unit.key.replace(":", "/"), unit.step.title)
    return frozenset(spelling.casefold() for spelling in spellings)


def _claims(
    given: _Given, prefix: str, said: Mapping[str, object], *, of_run: bool = False
) -> Iterator[Overclaim]:
    for key, value in said.items():
        plain = re.sub(r"[\s_-]", "", key).casefold()
        if of_run and plain == "status":
            plain = "runstatus"
        for keys, reads in _READERS:
            if plain in keys:
                place = prefix + key[:40]
                yield from (Overclaim(place=place, words=words) for words in reads(given, value))


def _another_step(given: _Given, value: object) -> Iterator[str]:
    for name in _named(value):
        if other := given.other(name):
            yield f"reports the step {other[:100]}"


def _steps_done(given: _Given, value: object) -> Iterator[str]:
    names = _named(value)
    yield from (f"reports {other[:100]} as done" for name in names if (other := given.other(name)))
    if sum(1 for name in names if given.is_own(name)) > 1:
        yield f"reports {given.unit.key} twice"


def _steps_named(given: _Given, value: object) -> Iterator[str]:
    yield from (f"speaks for {other}" for name in _named(value) if (other := given.planned(name)))


def _next_step(given: _Given, value: object) -> Iterator[str]:
    for name in _named(value):
        if not given.comes_next(name) and (other := given.planned(name)):
            yield f"decides that {other} comes next"


def _another_phase(given: _Given, value: object) -> Iterator[str]:
    for name in _named(value):
        if name.casefold() in set(Phase) - {given.unit.phase}:
            yield f"reports the phase {name.casefold()}"


def _phases_done(given: _Given, value: object) -> Iterator[str]:
    for name in _named(value):
        is_own = name.casefold() == given.unit.phase
        if name.casefold() in set(Phase) and not (is_own and given.ends_its_phase):
            yield f"reports the phase {name.casefold()} as done"


def _phases_named(given: _Given, value: object) -> Iterator[str]:
    """A list of phases may be the plan's; an object says which are done."""
    return _phases_done(given, value) if isinstance(value, Mapping) else iter(())


def _phase_ended(given: _Given, value: object) -> Iterator[str]:
    if _says_yes(value) and not given.ends_its_phase:
        yield f"reports the phase {given.unit.phase} as done"


def _all_ended(given: _Given, value: object) -> Iterator[str]:
    if _says_yes(value) and not given.is_last:
        yield "claims that the whole workflow is done"


_READERS: tuple[tuple[set[str], Callable[[_Given, object], Iterator[str]]], ...] = (
    (_STEP, _another_step),
    (_STEPS_DONE, _steps_done),
    (_STEPS_NAMED, _steps_named),
    (_NEXT, _next_step),
    (_PHASE, _another_phase),
    (_PHASES_DONE, _phases_done),
    (_PHASES_NAMED, _phases_named),
    (_PHASE_ENDED, _phase_ended),
    (_ALL_ENDED, _all_ended),
)


def _says_yes(value: object) -> bool:
    words = (*_ENDED, "true", "yes")
    return value is True or (isinstance(value, str) and value.strip().casefold() in words)


def _named(value: object) -> list[str]:
    """The names a value holds: a text, an object with a name, a list of these, or name → status."""
    match value:
        case str():
            return [value.strip()]
        case list():
            return [name for item in value for name in _named(item)]
        case Mapping() if "status" in value and not _is_done(value):
            return []  # a step that is only listed
        case Mapping():
            own = [value[key] for key in ("step", "step_id", "id", "name") if key in value]
            phase = value.get("phase")
            if own and isinstance(own[0], str):
                name = own[0].strip()
                return [f"{phase}:{name}" if isinstance(phase, str) and ":" not in name else name]
            return [str(key) for key, status in value.items() if _is_done(status)]
        case _:
            return []


def _is_done(status: object) -> bool:
    inner = status.get("status") if isinstance(status, Mapping) else status
    return _says_yes(inner) or (isinstance(inner, str) and inner.casefold() in _MOVED)
