"""The form a run or a batch is started with in the browser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.utils.functional import cached_property

from runs.accounts.membership import Sight
from runs.domain.planning.batch import MOST_AT_ONCE, listed
from runs.domain.workflow.definition import AutonomyLevel
from runs.engine import starting, turns
from runs.engine.batches import AT_ONCE, BatchWish
from runs.engine.starting import Wish
from runs.engine.turns import BusyProject
from runs.models import Project
from runs.pages.start.offers import Offer, offers
from runs.workflow_files.documents import EXTENSIONS


class StartForm(forms.Form):
    """Who operates the site may name any folder and file; others what is known to a project."""

    workflow = forms.CharField(label="Workflow", max_length=1000, required=False)
    project = forms.ChoiceField(label="Project", required=False)
    target = forms.CharField(
        label="Target",
        help_text="What to work on, such as a file or a component.",
        required=False,
        max_length=500,
    )
    work_ids = forms.CharField(
        label="Work ids",
        help_text="Separated by commas, spaces or new lines. Several ids start a batch with one "
        "run each. Leave empty for a single run without an issue.",
        required=False,
        widget=forms.Textarea({"rows": 3, "placeholder": "124, 125, 126", "spellcheck": "false"}),
    )
    concurrency = forms.IntegerField(
        label="Parallel runs", min_value=1, max_value=MOST_AT_ONCE, initial=AT_ONCE, required=False
    )
    autonomy = forms.ChoiceField(
        label="Autonomy",
        required=False,
        choices=[
            ("", "Workflow default"),
            *((level.value, level.value) for level in AutonomyLevel),
        ],
    )
    prompt = forms.CharField(
        label="Additional instructions",
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 2, "dir": "auto"}),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, operates: bool, sight: Sight
    ) -> None:
        super().__init__(data)
        self.projects = list(sight.of(Project.objects.order_by("name"), "pk"))
        names = [(project.name, project.name) for project in self.projects]
        self.fields["project"].choices = [("", "None"), *names]  # type: ignore[attr-defined]
        self.operates = operates
        if operates:
            self.fields["folder"] = forms.CharField(
                label="Folder",
                required=False,
                max_length=1000,
                help_text="Folder on the server to run in, instead of the project's folder.",
            )
            self.fields["file"] = forms.CharField(
                label="Another workflow",
                required=False,
                max_length=1000,
                help_text="Path of a JSON or YAML file on the server, instead of the list above.",
            )
            self.order_fields(["workflow", "file", "project", "folder"])

    @cached_property
    def offers(self) -> list[Offer]:
        return offers(self.projects)

    @property
    def chosen(self) -> str:
        """The workflow that is marked in the list."""
        return str(self["workflow"].value() or "")

    @property
    def rest(self) -> list[forms.BoundField]:
        """What is asked below the workflow."""
        return [field for field in self if field.name not in ("workflow", "file")]

    @property
    def busy(self) -> list[BusyProject]:
        return turns.busy(self.projects)

    @property
    def ids(self) -> tuple[str, ...]:
        return listed(self.cleaned_data.get("work_ids", ""))

    @property
    def is_for_many(self) -> bool:
        return len(self.ids) > 1

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        needs_one = not starting.brings_workspace(said.get("workflow", ""))
        if "workflow" in said and needs_one and not self._folder():
            self.add_error("project", "Select a project with a folder on this server.")
        return said

    def clean_workflow(self) -> str:
        # Read here already, so that every problem of the workflow stands beside the list.
        other = str(self.data.get("file") or "") if self.operates else ""
        named = (other or str(self.cleaned_data["workflow"])).strip()
        if not named:
            raise forms.ValidationError("Select a workflow.")
        if not self.operates and Path(named).suffix in EXTENSIONS:
            raise forms.ValidationError(
                "Only operators can start a workflow from a file. Use a workflow id."
            )
        return named

    @property
    def wish(self) -> Wish:
        said = self.cleaned_data
        return Wish(
            workflow=said["workflow"],
            workspace=Path(self._folder() or settings.FABER_DATA_DIR),
            project=said["project"],
            target=said["target"],
            work_id="" if self.is_for_many else "".join(self.ids),
            autonomy=said["autonomy"],
            prompt=said["prompt"],
        )

    @property
    def batch_wish(self) -> BatchWish:
        return BatchWish(
            wish=self.wish,
            work_ids=self.ids,
            concurrency=self.cleaned_data["concurrency"] or AT_ONCE,
        )

    def _folder(self) -> str:
        chosen = self.cleaned_data.get("project")
        project = next((p for p in self.projects if p.name == chosen), None)
        own: str = self.cleaned_data.get("folder", "")
        return own or (str(project.folder or "") if project else "")
