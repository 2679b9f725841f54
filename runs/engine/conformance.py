"""Whether a run kept to its plan: what its history tells, against what it was started on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runs.domain.planning import verification
from runs.domain.values.events import Entry, EventType
from runs.domain.values.status import RunStatus
from runs.models import Event, Run, StepAttempt
from runs.models.statements import Prepared

Json = dict[str, object]

_MEANINGS = {
    "missing": "planned but never completed",
    "extra": "executed but not in the plan",
    "reordered": "started before an earlier step was done",
    "fabricated": "finished without being executed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """A verdict as pages show it."""

    verdict: verification.Verdict
    total: int  # steps of the plan
    has_its_plan: bool

    @property
    def is_good(self) -> bool:
        return self.verdict.conforms and self.has_its_plan

    @property
    def differences(self) -> list[tuple[str, str, Sequence[str]]]:
        """What was executed otherwise than planned: its name, what it means, which steps."""
        return [
            (name, meaning, keys)
            for name, meaning in _MEANINGS.items()
            if (keys := getattr(self.verdict, name))
        ]


def shown_of(run: Run) -> Conformance:
    return Conformance(
        verdict=verdict_of(run),
        total=len(run.frozen_plan.step_keys),
        has_its_plan=run.has_its_plan,
    )


def verdict_of(run: Run) -> verification.Verdict:
    """Executed against planned; a run that is not at its end is only held to what it reached."""
    traces, plan = traces_of(run), run.frozen_plan
    if run.state is RunStatus.COMPLETED:
        verdict = verification.verify(plan.step_keys, traces)
    else:
        reached = sum(1 for unit in plan.units[: run.position] if not unit.is_hook)
        verdict = verification.verify_so_far(plan.step_keys, traces, reached=reached)
    taken = run.attempts.exclude(taken_over_from="").order_by("pk")
    keys = tuple(attempt.key for attempt in taken) if run.forked_at else ()
    return replace(verdict, divergences=_divergences(run), taken_over=keys)


_TELLING = Prepared(
    lambda run: (
        Event.objects.filter(run=run, type__in=verification.TELLING)
        .order_by("number")
        .values_list("number", "type", "phase", "step")
    ),
    -1,
)
_BEGUN = Prepared(
    lambda run: (
        StepAttempt.objects.filter(run=run, is_hook=False, started_at__isnull=False)
        .order_by()
        .values_list("phase", "step")
    ),
    -1,
)


def traces_of(run: Run, upcoming: Iterable[Entry] = ()) -> list[verification.Trace]:
    """What the history tells of steps, then what is about to be told."""
    rows = _TELLING.rows(run.pk)
    executed = {f"{phase}:{step}" for phase, step in _BEGUN.rows(run.pk)}
    # What another machine began and this one goes on with has no attempt here.
    executed |= {
        f"{phase}:{step}"
        for number, kind, phase, step in rows
        if kind == EventType.STEP_START and (number <= run.told_elsewhere or run.is_foreign)
    }
    rows = [*rows, *((0, entry.type, entry.phase, entry.step) for entry in upcoming)]
    return [
        verification.Trace(type=kind, key=key, is_backed=key in executed)
        for kind, key in ((kind, f"{phase}:{step}") for _, kind, phase, step in rows)
        if kind in verification.TELLING
    ]


def _divergences(run: Run) -> tuple[verification.Divergence, ...]:
    refused = Event.objects.filter(run=run, type=EventType.DIVERGENCE).order_by("number")
    return tuple(
        verification.Divergence(
            number=number,
            key=f"{phase}:{step}",
            attempt=document.get("metadata", {}).get("attempt", 0),
            message=document.get("message", ""),
            claims=tuple(document.get("metadata", {}).get("claims", ())),
        )
        for number, phase, step, document in refused.values_list(
            "number", "phase", "step", "document"
        )
    )


def verdict_shape(verdict: verification.Verdict) -> Json:
    return {
        "conforms": verdict.conforms,
        "matched": list(verdict.matched),
        "missing": list(verdict.missing),
        "extra": list(verdict.extra),
        "reordered": list(verdict.reordered),
        "fabricated": list(verdict.fabricated),
        "taken_over": list(verdict.taken_over),
        "divergences": [
            {
                "event_id": refused.number,
                "step": refused.key,
                "attempt": refused.attempt,
                "message": refused.message,
                "claims": list(refused.claims),
            }
            for refused in verdict.divergences
        ],
    }
