"""The form an answer is given with: options, words, and a field for each question."""

from collections.abc import Mapping
from copy import copy
from typing import Any, cast

from django import forms

from feedback.desk import rule_fields
from feedback.desk.form_fields import field_for
from feedback.desk.review import LONGEST_REMARK, LinePlace
from feedback.models import FeedbackRequest, ReviewComment
from feedback.models.reviews import KINDS
from feedback.requests.answers import Words
from feedback.rules import making
from runs.domain.values.errors import FaberError, InvalidAnswer, RoundLimit
from runs.domain.values.forms.questions import FormQuestion, is_typed
from runs.domain.values.questions import ItemKind
from runs.domain.values.standing.patterns import suggestions

WITH_EDITS = "approve:edits"  # what the button says that approves one's own suggestions too


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
        self._questions: dict[str, FormQuestion] = {}
        for number, question in enumerate(asked.form, start=1):
            name = f"question-{number}"
            self.fields[name] = field_for(question)
            self._questions[name] = question
        self._is_typed = self.asks_for_words and is_typed(asked.form)
        call = making.call_of(asked)
        self.rule_patterns = suggestions(call.about) if call else []
        self.fields.update(rule_fields.fields_for(call) if call else {})

    @property
    def questions(self) -> list[tuple[FormQuestion, forms.BoundField]]:
        return [(question, self[name]) for name, question in self._questions.items()]

    @property
    def has_edits(self) -> bool:
        """Whether the person's own suggestions are to be carried out with the approval."""
        return self._text("response") == WITH_EDITS

    @property
    def answer(self) -> str | Mapping[str, object]:
        """The option that was chosen, or what answers the questions."""
        if self.has_edits:
            return "approve"
        if option := self._text("response"):
            return option
        if self._is_typed:
            return {question.id: self._text(name) for name, question in self._questions.items()}
        return self._composed() or self._text("comment")

    @property
    def rule(self) -> Mapping[str, object] | None:
        """The standing rule that is to come of the answer."""
        return rule_fields.rule_in(self.cleaned_data, self._text("response"))

    @property
    def words(self) -> Words:
        if self._text("response"):
            return Words(comment=self.typed)
        if self._is_typed:
            return Words(comment=self._text("comment"))
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
            raise InvalidAnswer("The form is not valid.")

    def kept(self, asked: FeedbackRequest, error: FaberError) -> "AnswerForm":
        """The same words once more, for the request as it is now and with what is wrong."""
        data: Any = copy(self.data)  # not its items: of several values they hold the last
        data["seal"] = asked.seal
        form = AnswerForm(asked, data)
        if isinstance(error, InvalidAnswer) and not isinstance(error, RoundLimit):
            form._point_out(error)
        return form

    def _point_out(self, error: InvalidAnswer) -> None:
        """Put the sentence at the field that can mend it, and the cursor with it."""
        name = next(iter(self._questions), "comment") if self.asks_for_words else "comment"
        if self.is_valid():
            for at, told in self._placed(error) or ((name, str(error)),):
                self.add_error(at, told)
        name = next((name for name in self.errors if name in self.fields), name)
        self.fields[name].widget.attrs["autofocus"] = True

    def _placed(self, error: InvalidAnswer) -> list[tuple[str, str]]:
        """What is wrong with each answer, beside the field it was given in."""
        names = {question.id: name for name, question in self._questions.items()}
        problems = error.details.get("problems")
        of_rule = _in_rule(problems)
        return of_rule or [
            (names.get(each["place"], next(iter(names))), f"This {each['message']}.")
            if each["place"]
            else (next(iter(names)), each["message"])
            for each in (problems if isinstance(problems, list) and names else ())
        ]

    def _composed(self) -> str:
        given = {
            question.text: text
            for name, question in self._questions.items()
            if (text := self._text(name))
        }
        if len(self._questions) == 1:
            return next(iter(given.values()), "")
        return "\n".join(f"{question}: {text}" for question, text in given.items())

    def _text(self, name: str) -> str:
        value = str(self.cleaned_data.get(name) or "") if self.is_bound and self.is_valid() else ""
        return value.replace("\r\n", "\n")


def _in_rule(problems: object) -> list[tuple[str, str]]:
    """What is wrong with a standing rule, beside its own fields."""
    listed = problems if isinstance(problems, list) else []
    return [
        (each["place"].replace("rule.", "rule_"), f"This {each['message']}.")
        for each in listed
        if each["place"].startswith("rule.")
    ]


class RemarkForm(forms.Form):
    """A comment on lines of an artifact, in the place where they are read."""

    path = forms.CharField(widget=forms.HiddenInput, max_length=500)
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1, required=False)
    side = forms.ChoiceField(  # of the code changes
        widget=forms.HiddenInput, required=False, choices=[("", ""), *ReviewComment.Side.choices]
    )
    line = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    end_line = forms.IntegerField(widget=forms.HiddenInput, min_value=1, required=False)
    quote = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)
    body = forms.CharField(
        max_length=LONGEST_REMARK,
        required=False,  # a suggestion may speak for itself
        widget=forms.Textarea({"rows": 3, "dir": "auto"}),
    )
    replacement = forms.CharField(
        label="Replace these lines with",
        max_length=LONGEST_REMARK,
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 3, "class": "mono", "spellcheck": "false"}),
    )
    kind = forms.ChoiceField(label="Kind", choices=KINDS, widget=forms.RadioSelect)
    begun = forms.CharField(widget=forms.HiddenInput, required=False)  # its name in the draft

    def __init__(self, data: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="remark-%s", **options)
        self.fields["body"].label = f"Comment on {self.where}"
        if self._given("side") == ReviewComment.Side.OLD:  # what is gone cannot be replaced
            kind = cast("forms.ChoiceField", self.fields["kind"])
            kind.choices = [each for each in KINDS if each[0] != ItemKind.SUGGESTION]

    def _given(self, name: str) -> Any:
        return (self.data if self.is_bound else self.initial).get(name)

    @property
    def where(self) -> str:
        first, last = self._given("line"), self._given("end_line")
        old = "old " if self._given("side") == ReviewComment.Side.OLD else ""
        if not last or str(last) == str(first):
            return f"{old}line {first}"
        return f"{old}lines {first}–{last}"

    @property
    def place(self) -> LinePlace:
        said = self.cleaned_data
        first = said["line"]
        return LinePlace(
            path=said["path"],
            revision=said["revision"] or 0,
            side=said["side"],
            line=first,
            end_line=max(first, said["end_line"] or first),
            quote=said["quote"],
        )

    def clean(self) -> dict[str, Any]:
        return _cleaned(self, super().clean())

    @property
    def said(self) -> dict[str, Any]:
        return _said(self)


class RemarkChangeForm(forms.Form):
    """The same for a comment that is there already: its place stays."""

    body = RemarkForm.declared_fields["body"]
    replacement = RemarkForm.declared_fields["replacement"]
    kind = RemarkForm.declared_fields["kind"]
    begun = RemarkForm.declared_fields["begun"]

    def __init__(self, data: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="change-%s", **options)
        self.fields["body"].label = "Comment"

    def clean(self) -> dict[str, Any]:
        return _cleaned(self, super().clean())

    @property
    def said(self) -> dict[str, Any]:
        return _said(self)


def _cleaned(form: forms.Form, cleaned: dict[str, Any] | None) -> dict[str, Any]:
    """A suggestion has a replacement, empty to delete the lines; other comments say something."""
    said = dict(cleaned or {})
    if form.data.get("delete"):  # the button that suggests just that
        said["kind"], said["replacement"] = ItemKind.SUGGESTION.value, ""
    if said.get("kind") == ItemKind.SUGGESTION:
        said["replacement"] = said.get("replacement", "").replace("\r\n", "\n")
        return said
    if not said.get("body") and "body" not in form.errors:
        form.add_error("body", "Write a comment.")
    return {**said, "replacement": ""}


def _said(form: forms.Form) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in ("body", "kind", "replacement")}
