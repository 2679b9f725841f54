"""Which of the open requests somebody wants to see, as the address of the inbox says it."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django import forms

from runs.domain.values.phases import Phase
from runs.domain.values.questions import FeedbackType


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    q: str = ""
    project: str = ""
    type: str = ""
    phase: str = ""
    batch: str = ""
    mine: bool = False

    def __bool__(self) -> bool:
        return bool(self.query)

    @property
    def query(self) -> str:
        """What is filtered by, and nothing else, as the query of an address."""
        fields = {
            "q": self.q,
            "project": self.project,
            "type": self.type,
            "phase": self.phase,
            "batch": self.batch,
            "mine": "1" if self.mine else "",
        }
        return urlencode({name: value for name, value in fields.items() if value})

    def goes_on_typing(self, before: "Filters") -> bool:
        """Whether nothing but the text changed, and there was some already."""
        return bool(before.q) and replace(before, q=self.q) == self

    def of_type(self, kind: str) -> "Filters":
        return replace(self, type=kind)


class FilterForm(forms.Form):
    q = forms.CharField(required=False, max_length=250)
    project = forms.CharField(required=False, max_length=200)
    type = forms.ChoiceField(required=False, choices=[(t.value, t.label) for t in FeedbackType])
    phase = forms.ChoiceField(required=False, choices=[(p.value, p.title) for p in Phase])
    batch = forms.SlugField(required=False, max_length=40)
    mine = forms.BooleanField(required=False)

    @property
    def filters(self) -> Filters:
        """A value nobody knows filters nothing."""
        self.is_valid()
        return Filters(**self.cleaned_data)
