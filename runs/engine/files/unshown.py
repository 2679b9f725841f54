"""Remembers which files of a result cannot be shown, and tells it whenever somebody is asked."""

from collections.abc import Mapping
from dataclasses import replace

from runs.domain.responses.results import ResultStatus
from runs.domain.values.background import UNSHOWN
from runs.domain.values.plain_json import given
from runs.domain.values.questions import Question
from runs.engine.files.artifacts import FoundFile
from runs.executors.orders import Outcome
from runs.models import Run, StepAttempt

Json = dict[str, object]

_DONE = (ResultStatus.SUCCESS.value, ResultStatus.WARNING.value)


def noted(outcome: Outcome, found: tuple[FoundFile, ...]) -> Outcome:
    """The outcome with what of it cannot be shown, which is ours to say and not the step's."""
    result = outcome.result
    details = {key: value for key, value in result.details.items() if key != UNSHOWN}
    if files := [file.unshown.shape() for file in found if file.unshown]:
        details[UNSHOWN] = files
    return replace(outcome, result=replace(result, details=details))


def told(question: Question, run: Run, attempt: StepAttempt | None) -> Question:
    """The question with the files its reviewers would look for in vain.

    Those of the attempt it follows; before a phase or a step, those of every step so far.
    """
    files = _named_in(attempt.response) if attempt else _of_every_step(run)
    if not files:
        return question
    return replace(question, context={**question.context, UNSHOWN: files})


def _named_in(response: Mapping[str, object] | None) -> list[Json]:
    named = given(given(response or {}, "details", dict), UNSHOWN, list)
    return [file for file in named if isinstance(file, dict)]


def _of_every_step(run: Run) -> list[Json]:
    """What is missing by now: a later attempt may have made it."""
    lacking = list(run.attempts.filter(response__details__has_key=UNSHOWN).order_by("pk"))
    if not lacking:
        return []
    later = run.attempts.filter(pk__gt=lacking[0].pk, result__in=_DONE)
    made = list(later.values_list("pk", "phase", "step", "files"))
    return [
        file
        for attempt in lacking
        for file in _named_in(attempt.response)
        if not any(
            pk > attempt.pk
            and (place == [attempt.phase, attempt.step] or file.get("path") in files)
            for pk, *place, files in made
        )
    ]
