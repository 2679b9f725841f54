"""The form a run is cancelled with."""

from django import forms


class CancelForm(forms.Form):
    reason = forms.CharField(
        label="Reason",
        max_length=500,
        error_messages={"required": "Enter a reason."},
    )
