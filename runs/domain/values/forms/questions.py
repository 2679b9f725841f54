"""A form's questions, as a step or a program wrote them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from runs.domain.values.plain_json import quoted

LONG_LIST = 8  # from so many options on, typing finds one sooner than reading


class FieldType(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    CHOICE = "choice"
    MULTI = "multi"

    @property
    def has_options(self) -> bool:
        return self in (FieldType.CHOICE, FieldType.MULTI)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuestion:
    """One field of the form; without a type of its own its answer is not held to one."""

    id: str
    text: str
    options: tuple[str, ...] = ()
    given_type: FieldType | None = None
    required: bool = False

    @property
    def type(self) -> FieldType:
        return self.given_type or (FieldType.CHOICE if self.options else FieldType.TEXT)

    @property
    def is_long(self) -> bool:
        return len(self.options) >= LONG_LIST

    @property
    def expects(self) -> str:
        """What an answer must be, in a few words; nothing where any text will do."""
        offered = ", ".join(self.options)
        told = {
            FieldType.NUMBER: "a number",
            FieldType.BOOLEAN: "yes or no",
            FieldType.DATE: "a date such as 2026-11-16",
            FieldType.CHOICE: offered,
            FieldType.MULTI: f"any of {offered}",
        }
        return told.get(self.type, "")

    def __str__(self) -> str:
        notes = "; ".join(filter(None, (self.expects, "required" if self.required else "")))
        return f"{self.text} ({notes})" if notes else self.text


def read_form(questions: object) -> tuple[FormQuestion, ...]:
    """Questions as a step or a program wrote them; what is not of its kind is passed over."""
    listed = questions if isinstance(questions, list | tuple) else ()
    form: dict[str, FormQuestion] = {}
    for number, item in enumerate(listed, start=1):
        said = item if isinstance(item, Mapping) else {"question": item}
        name = str(said.get("id") or f"q{number}")
        # Two questions of one id could not be told apart in an answer.
        name = f"q{number}" if name in form else name
        options = said.get("options")
        form[name] = FormQuestion(
            id=name,
            text=str(said.get("question", "")),
            options=tuple(map(str, options)) if isinstance(options, list | tuple) else (),
            given_type=_type(said.get("type")),
            required=said.get("required") is True,
        )
    return tuple(form.values())


def question_shape(question: FormQuestion) -> dict[str, object]:
    """A question as a request keeps it; what it did not say is left out."""
    shape: dict[str, object] = {
        "id": question.id,
        "question": question.text,
        "options": list(question.options),
    }
    if question.given_type:
        shape["type"] = question.given_type.value
    if question.required:
        shape["required"] = True
    return shape


def is_typed(form: Iterable[FormQuestion]) -> bool:
    """Whether answers are held to the form; otherwise any text is one, as it always was."""
    return any(question.given_type or question.required for question in form)


def problems_of(question: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What is wrong with a question's type, as key and message."""
    if "type" not in question:
        return
    known = _type(question["type"])
    if known is None:
        yield "type", f"{quoted(question['type'])} is not one of {', '.join(FieldType)}"
    elif known.has_options and not question.get("options"):
        yield "options", f"are missing; a {known} needs some"
    elif not known.has_options and question.get("options"):
        yield "options", f"are not for a {known}; use choice or multi"


def _type(value: object) -> FieldType | None:
    try:
        return FieldType(str(value))
    except ValueError:
        return None
