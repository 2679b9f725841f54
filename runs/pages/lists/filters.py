from collections.abc import Iterable
from typing import Any, cast

from django import forms

from runs.accounts.membership import Sight
from runs.domain.values.phases import Phase
from runs.domain.values.status import RunStatus
from runs.pages.lists import listing
from runs.pages.lists.listing import RunFilter

PERIODS = {"1": "Last day", "7": "Last week", "30": "Last 30 days", "90": "Last 90 days"}


def offer(form: forms.Form, menu: str, every: str, names: Iterable[str]) -> None:
    """Fill a menu with what whoever looks may choose from."""
    field = cast("forms.ChoiceField", form.fields[menu])
    field.choices = [("", every), *((name, name) for name in names)]


def search_field(placeholder: str) -> forms.CharField:
    looks = {"type": "search", "placeholder": placeholder, "autocomplete": "off"}
    return forms.CharField(
        label="Search", required=False, max_length=250, widget=forms.TextInput(attrs=looks)
    )


class SearchForm(forms.Form):
    """What the list of runs is narrowed by; a value nobody knows narrows nothing."""

    q = search_field("Title, work id, project or workflow")
    status = forms.ChoiceField(
        required=False, choices=[(s.value, s.label) for s in RunStatus], widget=forms.HiddenInput
    )
    project = forms.ChoiceField(
        label="Project",
        required=False,
        choices=(),
    )
    workflow = forms.ChoiceField(
        label="Workflow",
        required=False,
        choices=(),
    )
    by = forms.ChoiceField(
        label="Started by",
        required=False,
        choices=(),
    )
    phase = forms.ChoiceField(
        label="Phase",
        required=False,
        choices=[("", "Any phase"), *((phase.value, phase.title) for phase in Phase)],
    )
    days = forms.ChoiceField(
        label="Started", required=False, choices=[("", "Any time"), *PERIODS.items()]
    )

    def __init__(self, *args: Any, sight: Sight, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sight = sight
        offer(self, "project", "All projects", listing.projects(sight))
        offer(self, "workflow", "All workflows", listing.workflows(sight))
        offer(self, "by", "Anyone", listing.starters(sight))

    @property
    def wanted(self) -> RunFilter:
        self.is_valid()
        said = self.cleaned_data
        return RunFilter(
            text=said.get("q", ""),
            status=said.get("status", ""),
            project=said.get("project", ""),
            workflow=said.get("workflow", ""),
            started_by=said.get("by", ""),
            phase=said.get("phase", ""),
            since=listing.since(int(said.get("days") or 0)),
            sight=self._sight,
        )

    @property
    def menus(self) -> list[forms.BoundField]:
        return [self[name] for name in ("project", "workflow", "by", "phase", "days")]
