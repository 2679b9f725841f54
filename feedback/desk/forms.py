"""The form an answer is given with: options, words, and a field for each question."""

from collections.abc import Mapping
from typing import Any

from django import forms

from feedback.desk.review import LONGEST_REMARK, LinePlace
from feedback.models import FeedbackRequest
from feedback.models.reviews import KINDS
from feedback.requests.answers import Words
from runs.domain.values.background import FormQuestion
from runs.domain.values.errors import FaberError, InvalidAnswer


class AnswerForm(forms.Form):
    response = forms.CharField(required=False, strip=False)  # the button that was pressed
    seal = forms.CharField(required=False, widget=forms.HiddenInput)
    comment = forms.CharField(
        label="Comment", required=False, widget=forms.Textarea({"rows": 5, "dir": "auto"})
    )

    def __init__(
        self,
        asked: FeedbackRequest,
        data: Mapping[str, Any] | None = None,
        draft: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(data, initial={**(draft or {}), "seal": asked.seal})
        self.asks_for_words = asked.feedback_type.takes_text
        self._questions: dict[str, str] = {}
        for number, question in enumerate(asked.background.questions, start=1):
            name = f"question-{number}"
            self.fields[name] = _field(question)
            self._questions[name] = question.text

    @property
    def questions(self) -> list[forms.BoundField]:
        return [self[name] for name in self._questions]

    @property
    def answer(self) -> str:
        """The option that was chosen, or the text that answers the questions."""
        return self._text("response") or self._composed() or self._text("comment")

    @property
    def words(self) -> Words:
        if self._text("response"):
            return Words(comment=self.typed)
        # Without answers to the questions the comment is the answer, not something beside it.
        return Words(comment=self._text("comment") if self._composed() else "")

    @property
    def seen(self) -> str:
        return self._text("seal")

    @property
    def typed(self) -> str:
        """Everything the person wrote, to be copied when it could not be recorded."""
        return "\n\n".join(part for part in (self._composed(), self._text("comment")) if part)

    @property
    def draft(self) -> dict[str, str]:
        """The fields as they were filled in, to be kept until they are sent."""
        kept = ("comment", *self._questions)
        return {name: text for name in kept if (text := self._text(name))}

    def check(self) -> None:
        if not self.is_valid():
            raise InvalidAnswer("Something in the form cannot be read.")

    def kept(self, asked: FeedbackRequest, error: FaberError) -> "AnswerForm":
        """The same words once more, for the request as it is now and with what is wrong."""
        form = AnswerForm(asked, {**dict(self.data.items()), "seal": asked.seal})
        if isinstance(error, InvalidAnswer):
            form._point_out(error)
        return form

    def _point_out(self, error: InvalidAnswer) -> None:
        """Put the sentence at the field that can mend it, and the cursor with it."""
        name = next(iter(self._questions), "comment") if self.asks_for_words else "comment"
        if self.is_valid():
            self.add_error(name, str(error))
        name = next((name for name in self.errors if name in self.fields), name)
        self.fields[name].widget.attrs["autofocus"] = True

    def _composed(self) -> str:
        given = {
            question: text
            for name, question in self._questions.items()
            if (text := self._text(name))
        }
        if len(self._questions) == 1:
            return next(iter(given.values()), "")
        return "\n".join(f"{question}: {text}" for question, text in given.items())

    def _text(self, name: str) -> str:
        value = str(self.cleaned_data.get(name) or "") if self.is_bound and self.is_valid() else ""
        return value.replace("\r\n", "\n")


class RemarkForm(forms.Form):
    """A comment on lines of an artifact, in the place where they are read."""

    path = forms.CharField(widget=forms.HiddenInput, max_length=500)
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    line = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    end_line = forms.IntegerField(widget=forms.HiddenInput, min_value=1, required=False)
    quote = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)
    body = forms.CharField(
        max_length=LONGEST_REMARK,
        widget=forms.Textarea({"rows": 3, "dir": "auto"}),
        error_messages={"required": "Write what should be said about this place."},
    )
    kind = forms.ChoiceField(label="Kind", choices=KINDS, widget=forms.RadioSelect)

    def __init__(self, data: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="remark-%s", **options)
        self.fields["body"].label = f"Comment on {self.where}"

    @property
    def where(self) -> str:
        given = self.data if self.is_bound else self.initial
        first, last = given.get("line"), given.get("end_line")
        if not last or str(last) == str(first):
            return f"line {first}"
        return f"lines {first}–{last}"

    @property
    def place(self) -> LinePlace:
        said = self.cleaned_data
        first = said["line"]
        return LinePlace(
            path=said["path"],
            revision=said["revision"],
            line=first,
            end_line=max(first, said["end_line"] or first),
            quote=said["quote"],
        )


class RemarkChangeForm(forms.Form):
    """The same for a comment that is there already: its place stays."""

    body = RemarkForm.declared_fields["body"]
    kind = RemarkForm.declared_fields["kind"]


def _field(question: FormQuestion) -> forms.Field:
    if question.options:
        return forms.ChoiceField(
            label=question.text,
            required=False,
            choices=[(option, option) for option in question.options],
            widget=forms.RadioSelect,
        )
    return forms.CharField(
        label=question.text, required=False, widget=forms.Textarea({"rows": 2, "dir": "auto"})
    )
