"""Takes out what may neither be kept nor leave: the site's own secrets, and what looks like one."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import cast

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver

from runs.domain.responses import results
from runs.domain.responses.results import Result
from runs.domain.values.questions import Question
from runs.domain.values.secrets.redaction import SECRET_SETTINGS, redact
from runs.domain.values.text import Scrubber, scrubbed
from runs.executors.orders import Outcome

Json = dict[str, object]


def _concealed(text: str) -> str:
    return redact(text, _own()) if text else text


concealed = Scrubber(_concealed)


@cache
def _own() -> tuple[str, ...]:
    """The site's own secrets."""
    own = [str(getattr(settings, name)) for name in SECRET_SETTINGS]
    return (*own, str(settings.DATABASES["default"].get("PASSWORD") or ""))


@receiver(setting_changed)
def _forget(**_: object) -> None:
    _own.cache_clear()
    Scrubber.forget_all()


def without_secrets(outcome: Outcome) -> Outcome:
    """All that a step handed back, as it may be kept."""
    return replace(
        outcome,
        result=_result(outcome.result),
        said=_result(outcome.said) if outcome.said else None,
        stdout=concealed(outcome.stdout),
        stderr=concealed(outcome.stderr),
        divergences=tuple(map(concealed, outcome.divergences)),
        evidence=tuple(
            replace(piece, wanted=concealed(piece.wanted), words=concealed(piece.words))
            for piece in outcome.evidence
        ),
    )


def asked(question: Question) -> Question:
    """A question as it may be put to people; its options are chosen by name and stay."""
    return replace(
        question,
        prompt=concealed(question.prompt),
        title=concealed(question.title),
        context=_object(question.context),
    )


def _result(result: Result) -> Result:
    """Most hold no secret, which is found out with one look at all of it."""
    said = results.to_json(result)
    severities = dict.fromkeys(result.severities, "")
    every = {**said, "notes": result.notes, "severities": severities}
    return _clean(result) if scrubbed(every, concealed) is not every else result


def _clean(result: Result) -> Result:
    return replace(
        result,
        message=concealed(result.message),
        details=_object(result.details),
        errors=_texts(result.errors),
        warnings=_texts(result.warnings),
        error_analysis=concealed(result.error_analysis),
        warning_analysis=concealed(result.warning_analysis),
        suggested_fixes=_texts(result.suggested_fixes),
        pending_input=_object(result.pending_input),
        notes=_texts(result.notes),
        severities={concealed(text): how for text, how in result.severities.items()},
    )


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(concealed, texts))


def _object(value: Mapping[str, object]) -> Json:
    return cast("Json", scrubbed(dict(value), concealed))
