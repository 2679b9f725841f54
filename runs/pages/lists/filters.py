from collections.abc import Iterable
from typing import Any, cast

from django import forms

from runs.domain.values.phases import Phase
from runs.domain.values.status import RunStatus
from runs.pages.lists import listing
from runs.pages.lists.listing import RunFilter

PERIODS = {"1": "Last day", "7": "Last week", "30": "Last 30 days", "90": "Last 90 days"}


def _menu(every: str, names: Iterable[str]) -> list[tuple[str, str]]:
    return [("", every), *((name, name) for name in names)]


def ask_once(form: forms.Form) -> None:
    """Read the menus of a form from the database now, and not again at every use."""
    for field in form.fields.values():
        if isinstance(field, forms.ChoiceField):
            offered = cast("Iterable[tuple[str, str]]", field.choices)
            field.choices = list(offered)


def search_field(placeholder: str) -> forms.CharField:
    looks = {"type": "search", "placeholder": placeholder, "autocomplete": "off"}
    return forms.CharField(
        label="Search", required=False, max_length=250, widget=forms.TextInput(attrs=looks)
    )


class SearchForm(forms.Form):
    """What the list of runs is narrowed by; a value nobody knows narrows nothing."""

    q = search_field("Run, work id, project or workflow")
    status = forms.ChoiceField(
        required=False, choices=[(s.value, s.label) for s in RunStatus], widget=forms.HiddenInput
    )
    project = forms.ChoiceField(
        label="Project",
        required=False,
        choices=lambda: _menu("Every project", listing.projects()),
    )
    workflow = forms.ChoiceField(
        label="Workflow",
        required=False,
        choices=lambda: _menu("Every workflow", listing.workflows()),
    )
    by = forms.ChoiceField(
        label="Started by",
        required=False,
        choices=lambda: _menu("Anyone", listing.starters()),
    )
    phase = forms.ChoiceField(
        label="Phase",
        required=False,
        choices=[("", "Any phase"), *((phase.value, phase.title) for phase in Phase)],
    )
    days = forms.ChoiceField(
        label="Started", required=False, choices=[("", "Any time"), *PERIODS.items()]
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ask_once(self)

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
        )

    @property
    def menus(self) -> list[forms.BoundField]:
        return [self[name] for name in ("project", "workflow", "by", "phase", "days")]
