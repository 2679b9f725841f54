"""What a question comes with besides its files, told in the same parts on every channel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from runs.domain.values.forms.questions import FormQuestion, is_typed, read_form

# Where a step's result and a question's context name the files that could not be kept.
UNSHOWN = "artifact_problems"
CHANGES_NOTE = "changes_note"  # what of the code changes could not be read
_ANALYSES = ("error_analysis", "warning_analysis")


class FileProblem(StrEnum):
    """Why a file that a step named cannot be shown."""

    MISSING = "missing"
    OUTSIDE = "outside"
    TOO_LARGE = "too_large"
    NOT_A_FILE = "not_a_file"
    UNREADABLE = "unreadable"
    NOT_SENT = "not_sent"  # by an executor outside, whose folder nobody looks into


@dataclass(frozen=True, slots=True, kw_only=True)
class UnshownFile:
    path: str
    problem: FileProblem
    message: str

    def shape(self) -> dict[str, object]:
        return {"path": self.path, "problem": self.problem.value, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundSection:
    """One part of it, under its title."""

    name: str
    title: str
    items: tuple[str, ...]
    one: str = ""  # what one item is called; without a name the items are plain text
    is_numbered: bool = False
    tone: str = ""  # for colours

    @property
    def lines(self) -> tuple[str, ...]:
        """The items as plain text, each behind its mark."""
        if not self.one or self.is_numbered:
            return self.listed
        return tuple(f"- {item}" for item in self.items)

    @property
    def listed(self) -> tuple[str, ...]:
        """The same for a list that has marks of its own: numbers alone are said."""
        if not self.is_numbered:
            return self.items
        return tuple(f"{number}. {item}" for number, item in enumerate(self.items, start=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    summary: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    analysis: str = ""
    fixes: tuple[str, ...] = ()
    output_tail: str = ""
    questions: tuple[FormQuestion, ...] = ()
    unshown: tuple[str, ...] = ()  # a sentence for each file
    changes_note: str = ""

    @classmethod
    def read(cls, context: Mapping[str, object], *, prompt: str = "") -> "Background":
        """Whoever wrote the context, what is not of its type is passed over."""
        summary = _text(context.get("summary"))
        return cls(
            # A failure's prompt already ends with what the step said.
            summary="" if summary in prompt else summary,
            errors=_texts(context.get("errors")),
            warnings=_texts(context.get("warnings")),
            analysis="\n\n".join(filter(None, (_text(context.get(key)) for key in _ANALYSES))),
            fixes=_texts(context.get("suggested_fixes")),
            output_tail=_text(context.get("output_tail")),
            questions=read_form(context.get("questions")),
            unshown=tuple(_sentences(context.get(UNSHOWN))),
            changes_note=_text(context.get(CHANGES_NOTE)),
        )

    def is_output(self, error: str) -> bool:
        """Whether it is no more than the end of what was printed, which has a place of its own."""
        return "\n" in error and self.output_tail.endswith(error)

    @property
    def sections(self) -> tuple[BackgroundSection, ...]:
        """What every channel says besides the summary, in this order; empty parts are left out."""
        every = (
            BackgroundSection(
                name="questions",
                title="Questions",
                items=tuple(self._form()),
                one="question",
                is_numbered=True,
            ),
            BackgroundSection(
                name="unshown", title="Files not shown", items=self.unshown, one="file", tone="care"
            ),
            BackgroundSection(
                name="changes", title="Code changes", items=(self.changes_note,), tone="care"
            ),
            BackgroundSection(
                name="errors", title="Errors", items=self.errors, one="error", tone="bad"
            ),
            BackgroundSection(
                name="warnings", title="Warnings", items=self.warnings, one="warning", tone="care"
            ),
            BackgroundSection(name="analysis", title="Analysis", items=(self.analysis,)),
            BackgroundSection(
                name="fixes",
                title="Suggested fixes",
                items=self.fixes,
                one="suggestion",
                is_numbered=True,
            ),
        )
        return tuple(section for section in every if any(map(str.strip, section.items)))

    def _form(self) -> Iterator[str]:
        """The questions; where each is answered by its id, that comes first."""
        by_id = is_typed(self.questions) and len(self.questions) > 1
        for question in self.questions:
            yield f"{question.id}: {question}" if by_id else str(question)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in _listed(value) if isinstance(item, str))


def _listed(value: object) -> list[object] | tuple[object, ...]:
    return value if isinstance(value, list | tuple) else ()


def _sentences(value: object) -> Iterator[str]:
    for item in _listed(value):
        if isinstance(item, Mapping) and (sentence := _text(item.get("message"))):
            yield sentence
