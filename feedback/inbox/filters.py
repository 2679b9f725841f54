"""Which of the open requests somebody wants to see, as the address of the inbox says it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from runs.domain.values.phases import Phase
from runs.domain.values.questions import FeedbackType


class SortOrder(StrEnum):
    """What stands first in the inbox."""

    DUE = "due"
    WAITING = "waiting"
    TITLE = "title"
    PROJECT = "project"
    ROUND = "round"
    ASSIGNEE = "assignee"
    COST = "cost"
    CHANGES = "changes"

    @property
    def label(self) -> str:
        return f"Sort: {self.value}"


_ALL = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    q: str = ""
    project: str = ""
    type: str = ""
    phase: str = ""
    agent: str = ""
    batch: str = ""
    mine: bool = False
    late: bool = False
    sort: str = ""  # empty: what is due first, then by waiting

    def __bool__(self) -> bool:
        """Whether anything is left out; an order leaves out nothing."""
        return bool(replace(self, sort="").query)

    @property
    def order(self) -> SortOrder:
        return SortOrder(self.sort or SortOrder.DUE)

    @property
    def query(self) -> str:
        """What is filtered and sorted by, and nothing else, as the query of an address."""
        fields = {
            "q": self.q,
            "project": self.project,
            "type": self.type,
            "phase": self.phase,
            "agent": self.agent,
            "batch": self.batch,
            "mine": "1" if self.mine else "",
            "late": "1" if self.late else "",
            "sort": "" if self.order is SortOrder.DUE else self.sort,
        }
        return urlencode({name: value for name, value in fields.items() if value})

    @property
    def onward(self) -> str:
        """What a request opened from this list carries along, so that the next one is of it too."""
        return self.query or _ALL

    def goes_on_typing(self, before: "Filters") -> bool:
        """Whether nothing but the text changed, and there was some already."""
        return bool(before.q) and replace(before, q=self.q) == self

    def of_type(self, kind: str) -> "Filters":
        return replace(self, type=kind)


ALL_OPEN = Filters()


def read(query: str) -> Filters:
    return FilterForm(QueryDict(query)).filters


class FilterForm(forms.Form):
    q = forms.CharField(required=False, max_length=250)
    project = forms.CharField(required=False, max_length=200)
    type = forms.ChoiceField(required=False, choices=[(t.value, t.label) for t in FeedbackType])
    phase = forms.ChoiceField(required=False, choices=[(p.value, p.title) for p in Phase])
    agent = forms.CharField(required=False, max_length=100)
    batch = forms.SlugField(required=False, max_length=40)
    mine = forms.BooleanField(required=False)
    late = forms.BooleanField(required=False)
    sort = forms.ChoiceField(required=False, choices=[(o.value, o.label) for o in SortOrder])

    @property
    def filters(self) -> Filters:
        """A value nobody knows filters nothing."""
        self.is_valid()
        return Filters(**self.cleaned_data)
