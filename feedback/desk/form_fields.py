"""The input that a question of a form is answered with; what fits it is the domain's business."""

from typing import Any

from django import forms

from runs.domain.values.forms.questions import FieldType, FormQuestion


class ManyField(forms.MultipleChoiceField):
    """Several options, handled as one text with a line for each, as drafts keep it."""

    def clean(self, value: Any) -> str:
        return "\n".join(super().clean(value))

    def prepare_value(self, value: Any) -> Any:
        return value.split("\n") if isinstance(value, str) else value


def field_for(question: FormQuestion) -> forms.Field:
    field = _field(question)
    # Not the attribute: a browser would hold back "Skip" and the options too.
    if question.required and not question.type.has_options:
        field.widget.attrs["aria-required"] = "true"
    return field


def _field(question: FormQuestion) -> forms.Field:
    said: dict[str, Any] = {"label": question.text, "required": False}
    offered = [(option, option) for option in question.options]
    match question.type:
        case FieldType.CHOICE:
            return forms.ChoiceField(choices=offered, widget=forms.RadioSelect, **said)
        case FieldType.MULTI:
            return ManyField(choices=offered, widget=forms.CheckboxSelectMultiple, **said)
        case FieldType.BOOLEAN:
            yes_or_no = forms.RadioSelect(choices=[("yes", "Yes"), ("no", "No")])
            return forms.CharField(widget=yes_or_no, **said)
        case FieldType.NUMBER:
            return forms.CharField(widget=forms.NumberInput({"step": "any"}), **said)
        case FieldType.DATE:
            return forms.CharField(widget=forms.DateInput({"type": "date"}), **said)
        case FieldType.TEXT:
            return forms.CharField(widget=forms.Textarea({"rows": 2, "dir": "auto"}), **said)
