"""What the pages that look back are narrowed by; a value nobody knows narrows nothing."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms

from feedback.audit.decisions import DecisionFilter
from runs.accounts.membership import Sight
from runs.domain.values.actors import Source
from runs.domain.values.questions import FeedbackType
from runs.models import AuditKind
from runs.pages.lists import listing
from runs.pages.lists.filters import offer, search_field

PERIODS = {"7": "7 days", "30": "30 days", "90": "90 days", "all": "All time"}
DEFAULT_PERIOD = "30"


class AuditForm(forms.Form):
    q = search_field("Comment, question, request or run")
    user = forms.CharField(
        label="Who",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "Who", "autocomplete": "off"}),
    )
    kind = forms.ChoiceField(
        label="Kind",
        required=False,
        choices=[
            ("", "Decisions"),
            (AuditKind.REFUSAL.value, "Refused attempts"),
            (AuditKind.SIGN_IN.value, "Sign-ins"),
            (AuditKind.RULE.value, "Changed rules"),
        ],
    )
    project = forms.ChoiceField(
        label="Project",
        required=False,
        choices=(),
    )
    source = forms.ChoiceField(
        label="Channel",
        required=False,
        choices=[("", "All channels"), *((source.value, source.label) for source in Source)],
    )
    type = forms.ChoiceField(
        label="Type",
        required=False,
        choices=[("", "All types"), *((kind.value, kind.label) for kind in FeedbackType)],
    )
    since = forms.DateField(
        label="From", required=False, widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    )
    until = forms.DateField(
        label="To", required=False, widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, sight: Sight, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sight = sight
        offer(self, "project", "All projects", listing.projects(sight))

    @property
    def wanted(self) -> DecisionFilter:
        self.is_valid()
        said = self.cleaned_data
        return DecisionFilter(
            text=said.get("q", ""),
            kind=said.get("kind") or AuditKind.DECISION.value,
            user=said.get("user", ""),
            project=said.get("project", ""),
            source=said.get("source", ""),
            type=said.get("type", ""),
            since=_start(said.get("since")),
            until=_start(said.get("until"), days=1),
            sight=self._sight,
        )

    @property
    def menus(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name != "q"]


class PeriodForm(forms.Form):
    period = forms.ChoiceField(required=False, choices=PERIODS.items())

    @property
    def chosen(self) -> str:
        self.is_valid()
        return self.cleaned_data.get("period") or DEFAULT_PERIOD

    @property
    def days(self) -> int:
        """How far back; nothing for all of it."""
        return 0 if self.chosen == "all" else int(self.chosen)


def _start(day: date | None, *, days: int = 0) -> datetime | None:
    """The first moment of a day, or of one after it."""
    if day is None:
        return None
    return datetime.combine(day, time.min, UTC) + timedelta(days=days)
