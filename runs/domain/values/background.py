"""What a question comes with: what a step or a program said about it, each part in its type."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuestion:
    """One field of the form that a clarification is answered with."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    summary: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    analysis: str = ""
    fixes: tuple[str, ...] = ()
    output_tail: str = ""
    questions: tuple[FormQuestion, ...] = ()

    @classmethod
    def read(cls, context: Mapping[str, object], *, prompt: str = "") -> "Background":
        """Whoever wrote the context, what is not of its type is passed over."""
        summary = _text(context.get("summary"))
        return cls(
            # A failure's prompt already ends with what the step said.
            summary="" if summary in prompt else summary,
            errors=_texts(context.get("errors")),
            warnings=_texts(context.get("warnings")),
            analysis=_text(context.get("error_analysis")) or _text(context.get("warning_analysis")),
            fixes=_texts(context.get("suggested_fixes")),
            output_tail=_text(context.get("output_tail")),
            questions=_questions(context.get("questions")),
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in listed if isinstance(item, str))


def _questions(value: object) -> tuple[FormQuestion, ...]:
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(map(_question, listed))


def _question(value: object) -> FormQuestion:
    if not isinstance(value, Mapping):
        return FormQuestion(text=str(value))
    options = value.get("options")
    offered = tuple(map(str, options)) if isinstance(options, list | tuple) else ()
    return FormQuestion(text=str(value.get("question", "")), options=offered)
