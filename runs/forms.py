from django import forms

from runs.domain.status import RunStatus


class SearchForm(forms.Form):
    q = forms.CharField(label="Run, work id or project", required=False, max_length=250)
    status = forms.ChoiceField(
        label="Status",
        required=False,
        choices=[("", "Every status"), *((s.value, s.label.capitalize()) for s in RunStatus)],
    )

    @property
    def wanted(self) -> tuple[str, str]:
        """Text and status to look for; a status nobody knows filters nothing."""
        self.is_valid()
        return self.cleaned_data.get("q", ""), self.cleaned_data.get("status", "")


class CancelForm(forms.Form):
    reason = forms.CharField(
        label="Reason",
        max_length=500,
        error_messages={"required": "Say why the run is cancelled."},
    )
