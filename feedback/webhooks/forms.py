"""The form that a webhook is added with."""

from typing import Any

from django import forms

from feedback.channels.callbacks.addresses import LONGEST
from feedback.channels.webhooks import endpoints
from feedback.channels.webhooks.events import WebhookEvent
from feedback.models import WebhookEndpoint
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="Address",
        max_length=LONGEST,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "inputmode": "url",
                "placeholder": "https://example.org/faber",
            }
        ),
    )
    project = forms.ChoiceField(label="Project", required=False)
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(event.value, f"{event}: {event.about}") for event in WebhookEvent],
        initial=list(WebhookEvent),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )

    def __init__(self, actor: Actor, data: Any = None) -> None:
        super().__init__(data)
        self._actor = actor
        self._projects = {project.name: project for project in endpoints.projects_of(actor)}
        site = [("", "All projects")] if endpoints.may_manage_site(actor) else []
        self.fields["project"] = forms.ChoiceField(
            label="Project",
            required=not site,
            choices=[*site, *((name, name) for name in self._projects)],
        )

    def add(self) -> WebhookEndpoint | None:
        """The webhook, or nothing and what is wrong with its address."""
        said = self.cleaned_data
        try:
            return endpoints.add(
                said["url"],
                [WebhookEvent(value) for value in said["events"]],
                project=self._projects.get(said["project"]),
                actor=self._actor,
            )
        except Invalid as error:
            for problem in error.problems:
                self.add_error("url", f"This address {problem.message}.")
            return None
